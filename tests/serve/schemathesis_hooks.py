"""What JSON Schema cannot say of a request: a grammar must be one, no two assistant messages may stand at the end, and all the answers asked
for must fit the queue. Only values of the right type and range are replaced, so what is meant to be wrong stays wrong. Answers are kept short."""
import schemathesis


def is_integer(value): return isinstance(value, int) and not isinstance(value, bool)


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict): return body
    if isinstance(body.get("grammar"), str): body["grammar"] = "root ::= [a-z ]*"
    for name in ("messages", "input"):
        messages = body.get(name)
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant": messages[-1]["role"] = "user"
    if is_integer(body.get("n")) and 4 < body["n"] <= 128: body["n"] = 4
    for name in ("max_tokens", "max_completion_tokens", "n_predict", "max_output_tokens"):
        if is_integer(body.get(name)) and 16 < body[name] <= 1 << 30: body[name] = 16
    return body
