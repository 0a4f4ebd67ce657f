"""Over the starter model: coherent answers, the same under load."""
import threading
import openai
from conftest import chat_body


def test_it_answers(smol):
    client = openai.OpenAI(base_url=smol.url + "/v1", api_key="none")
    assert client.completions.create(model="x", prompt="The capital of France is", temperature=0, max_tokens=4).choices[0].text.startswith(" Paris")
    ask = lambda **more: client.chat.completions.create(model="x", temperature=0, max_tokens=16, messages=[{"role": "user", "content": "Name three colours."}], **more)
    answer = ask().choices[0].message.content
    assert len(answer.split()) > 3
    assert "".join(c.choices[0].delta.content or "" for c in ask(stream=True) if c.choices).strip() == answer.strip()


def test_the_same_under_load(smol):
    questions = ["Name three colours.", "What is 7 times 8?", "Who wrote Hamlet?", "List four animals."]
    ask = lambda q: smol.post("/v1/chat/completions", chat_body(q, max_tokens=12))[1]["choices"][0]["message"]["content"]
    alone = {q: ask(q) for q in questions}
    different = []
    def run(q):
        if ask(q) != alone[q]: different.append(q)
    threads = [threading.Thread(target=run, args=(questions[i % 4],)) for i in range(12)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not different
