"""What JSON Schema cannot say of a request: a grammar must be one, and no two assistant messages may stand at the end."""
import schemathesis


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict): return body
    if isinstance(body.get("grammar"), str): body["grammar"] = "root ::= [a-z ]*"
    messages = body.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant": messages[-1]["role"] = "user"
    return body
