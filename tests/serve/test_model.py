"""Over the starter model: coherent answers, the same under load."""
import threading
import openai
from conftest import chat_body


def test_it_answers(smol):
    client = openai.OpenAI(base_url=smol.url + "/v1", api_key="none")
    answer = client.chat.completions.create(model="x", temperature=0, max_tokens=24, messages=[{"role": "user", "content": "What is the capital of France?"}])
    assert "Paris" in answer.choices[0].message.content
    text = "".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(
        model="x", temperature=0, max_tokens=24, stream=True, messages=[{"role": "user", "content": "What is the capital of France?"}]) if c.choices)
    assert text.strip() == answer.choices[0].message.content.strip()


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
