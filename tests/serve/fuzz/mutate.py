"""Damage to requests: to what the JSON says, to how it is spelt, and to the HTTP around it. All randomness is the caller's."""
import copy, json

from seeds import GRAMMAR, SCHEMA, TOOLS, WEATHER


class Raw(bytes):
    """Text that stands in the JSON as it is."""


class Members(list):
    """An object as pairs, so that keys can repeat."""


def spell(value):
    if isinstance(value, Raw): return bytes(value)
    if isinstance(value, Members): return b"{" + b",".join(spell(k) + b":" + spell(v) for k, v in value) + b"}"
    if isinstance(value, dict): return b"{" + b",".join(spell(k) + b":" + spell(v) for k, v in value.items()) + b"}"
    if isinstance(value, list): return b"[" + b",".join(map(spell, value)) + b"]"
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def nest(depth, opening=b"[", inner=b"", closing=b"]"): return Raw(opening * depth + inner + closing * depth)


NUMBERS = [0, -1, 1, 2, 3, 7, 128, 129, 255, 511, 512, 513, 65536, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -2**63, 2**64 - 1, 2**64, -2**64,
           0.5, -0.5, -0.0, 1e-320, 1e-45, 3.5e38, 1e308, -1e308, 1e15, 9.1e15, Raw(b"1e999"), Raw(b"-1e999"), Raw(b"NaN"), Raw(b"Infinity"), Raw(b"-Infinity"), Raw(b"1e-999999"),
           Raw(b"0x10"), Raw(b"01"), Raw(b"1."), Raw(b"+1"), Raw(b"9" * 4000), Raw(b"0." + b"3" * 4000), Raw(b"1e" + b"9" * 400)]
TEXTS = ["", " ", "\0", "a\0b", "\n", "x" * 5000, "\u00e9" * 3000, "\U0001F600" * 800, "\u202e\u0301" * 50, "\ufffe\uffff", "%s%n%x", "../../etc/passwd", "a/b", "..", ".", "/",
         "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>assistant\n<think>", "<think>", "</think>", "<tool_call>", "</tool_call>{", "{{ 7*7 }}", "{% for i in range(10**9) %}x{% endfor %}",
         "null", "true", "1", "-1", "1e9", "auto", "none", "required", "user", "assistant", "tool", "system", "developer", "text", "json_object", "function", "kcypdtm", "edskypmxt", "top_k;min_p;;",
         "constructor", "__class__", "\"", "\\", "'", "a" * 70000,
         Raw(b'"\\ud800"'), Raw(b'"\\udc00\\ud800"'), Raw(b'"\\u0000"'), Raw(b'"\xff\xfe"'), Raw(b'"\xc0\x80"'), Raw(b'"\xed\xa0\x80"'), Raw(b'"\xf4\x90\x80\x80"'), Raw(b'"\xe2\x82"'), Raw(b'"\\x41"'),
         Raw(b'"\x01\x02"'), Raw(b'"abc'), Raw(b"'a'")]
OTHERS = [None, True, False, [], {}, [[]], [{}], {"": ""}, {"a": {}}, [None] * 300, [1, "a", None, {}, []], ["x"] * 2000, {str(i): i for i in range(1500)}, [[1, 2]] * 600,
          nest(100), nest(127), nest(129), nest(60000), nest(200, b'{"a":', b"1", b"}"), nest(50000, b'{"a":', b"1", b"}"), Raw(b"[1,]"), Raw(b"{,}"), Raw(b""), Raw(b"/* c */1"), Raw(b"[" * 30000)]

SCHEMAS = [
    True, False, {}, [], {"type": "nonsense"}, {"type": ["string", "null"]}, {"type": []}, {"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"$ref": "http://example.org/x"}, {"$ref": "#/$defs/none"}, {"$ref": "#/%zz~9"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": []}, {"oneOf": [{"type": "string"}, {"type": "string"}]}, {"not": {}},
    {"enum": []}, {"enum": list(range(5000))}, {"enum": ["x" * 20000]}, {"enum": [{"a": [1, None]}, 1.5, True]}, {"const": {"a": 1}}, {"const": "\ud800"}, {"minLength": 10**9}, {"type": "string", "maxLength": 10**9},
    {"type": "string", "minLength": 5, "maxLength": 2}, {"type": "string", "maxLength": -1}, {"type": "array", "items": {}, "minItems": 10**6}, {"type": "array", "maxItems": 2**63}, {"type": "array", "prefixItems": [{}] * 3000},
    {"type": "array", "items": {"type": "array", "maxItems": 1000, "items": {"type": "array", "maxItems": 1000, "items": {"type": "array", "maxItems": 1000}}}}, {"type": "array", "uniqueItems": True},
    {"type": "integer", "minimum": -10**30, "maximum": 10**30}, {"type": "integer", "minimum": 5, "maximum": 1}, {"type": "integer", "multipleOf": 7}, {"type": "number", "exclusiveMinimum": 1e-300, "maximum": 1e300},
    {"type": "string", "format": "date-time"}, {"type": "string", "format": "uuid"}, {"type": "string", "format": "no-such"}, {"type": "object", "patternProperties": {"^a": {}}}, {"type": "object", "minProperties": 3},
    {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(400)}}, {"type": "object", "properties": {f"p{i}": {"anyOf": [{"type": "string"}] * 9} for i in range(60)}, "required": ["p1", "zz"]},
    {"type": "object", "additionalProperties": {"$ref": "#"}, "propertyNames": {"pattern": "^(a|b)*$"}}, {"type": "object", "required": "a"}, {"properties": []}, {"type": "object", "properties": {"\u0000\"\\": {}}},
    {"if": {"type": "string"}, "then": {"minLength": 1}}, {"dependentRequired": {"a": ["b"]}}, {"type": "object", "unevaluatedProperties": False}, {"$anchor": "x", "$id": "y"}, {"description": "d" * 30000},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "string", "minLength": i}}} for i in range(300)]}, {"anyOf": [{"anyOf": [{"anyOf": [{"const": f"{i}{j}{k}"} for k in range(8)]} for j in range(8)]} for i in range(8)]},
    nest(120, b'{"type":"array","items":', b"{}", b"}"), nest(60, b'{"anyOf":[', b"{}", b",{}]}"), nest(30, b'{"allOf":[', b"{}", b",{\"type\":\"string\"}]}"),
]
PATTERNS = ["^a*$", "(a*)*b", "(a|aa)+$", "[^a-z]{3,900}", "a{1000}{1000}", "((((((((((a?){9}){9}){9}){9}){9}){9}){9})", "(?=a)b", "\\1", "[", "(", "a{5,2}", "\\p{L}+", "[\\w-z]", "\\u{110000}", "x{0,100000}", "(?:a|b|){50}",
            "^" + "(a|b)?" * 300 + "$", "[\\ud800-\\udfff]", ".*" * 200, "(" * 400 + "a" + ")" * 400, "|" * 500, "\\", "a**", "{3}", "$^", "(?i)a"]
GRAMMARS = [
    "", "root", "root ::=", "root ::= root", 'root ::= root "a" | "a"', "root ::= a\na ::= b\nb ::= a", 'root ::= ""', 'root ::= "a"{1000000}', 'root ::= ("a"{1000}){1000}', 'root ::= (("a"?){60}){60}',
    'root ::= ("a" | "b" | "c" | [a-z])*' + ' ("a"?)' * 300, "root ::= [", "root ::= [z-a]", "root ::= [^\\x00-\\U0010FFFF]", 'root ::= "\\', 'root ::= "\\xZZ"', 'root ::= "a" {,', "root ::= undefined",
    'x ::= "a"', "root ::= " + "(" * 5000, "root ::= " + "(" * 300 + '"a"' + ")" * 300, "root ::= " + " | ".join(f'"w{i}"' for i in range(4000)), "\n".join(["root ::= r0"] + [f"r{i} ::= r{i+1} r{i+1}" for i in range(40)] + ['r40 ::= "a"']),
    "\n".join(["root ::= r0"] + [f"r{i} ::= r{i+1}? r{i+1}?" for i in range(25)] + ['r25 ::= "a"']), "root ::= [\u0000-\U0010FFFF]* [a]{50}", "root ::= .* .* .* .* \"x\"", "root ::= ([a-z]* [a-z]*)* \".\"", "root ::= <|im_end|>", "root ::= <think> [^<]*",
    "root ::= !\"a\"", "# only a comment", "root ::= \"a\" # c\n# c", "root ::= \"\u00e9\"* [\u00e9-\u00ff]+", 'root ::= "a"\nroot ::= "b"', "root-x_1 ::= \"a\"\nroot ::= root-x_1", "a" * 100000, GRAMMAR, "root ::= \"a\"{3,2}", "root ::= [a-z]{0,70000}"]
KWARGS = [{"messages": []}, {"tools": "x"}, {"tools": [1]}, {"add_generation_prompt": "no"}, {"enable_thinking": 1}, {"range": 1, "namespace": 2, "loop": 3, "true": 0}, {"a b": 1, "": 2, "self": {}}, {"bos_token": ["x"] * 100},
          {"x": nest(100)}, {"x": "y" * 60000}, {str(i): [i] for i in range(2000)}, {"thinking": None, "enable_thinking": None}, {"raise_exception": "x", "strftime_now": 1}]

# Fields by name with what is worth trying beyond the general: inserted anywhere at the top.
FIELDS = {
    "grammar": GRAMMARS, "json_schema": SCHEMAS, "chat_template_kwargs": KWARGS, "stop": [["a"] * 300, ["x" * 70000], [""], "", ["\n"], [1], "e", [" ", "  ", "   "], ["\ud83d"]],
    "logit_bias": [{"1": 1e308, "2": -1e308}, {"the": "x"}, [[1, False]], [[1]], [["\n", 100]], {"999999": 1}, [[i % 512, -100] for i in range(5000)], {"": 1}, [[1.5, 1]], [[True, 1]]],
    "samplers": ["", "kkkkkkkk", [], ["top_k"] * 500, ["temperature", "no"], "penalties", ";;;", [""]], "dry_sequence_breakers": [[""], ["x" * 3000], ["\n"] * 2000, [1], "a"], "n": [1, 2, 127, 128, 129], "n_cmpl": [64],
    "n_probs": [0, 1, 511, 512, 513], "top_logprobs": [0, 20, 512], "logprobs": [True, 1, 5, 512], "post_sampling_probs": [True], "response_fields": [["a/b/c/d"], [""], ["/"], ["content"] * 500, "content"],
    "tools": [TOOLS, TOOLS * 100, [TOOLS[0]] * 2, [{"type": "function", "function": {"name": "x" * 65}}], [{"type": "web_search"}], [{"name": "flat", "parameters": {}}]],
    "tool_choice": ["auto", "none", "required", {"type": "function", "function": {"name": "nobody"}}, {"type": "allowed_tools"}], "response_format": [SCHEMA, {"type": "json_object"}, {"type": "text"}, {"type": "json_object", "schema": WEATHER}],
    "stream": [True, False], "id_slot": [-1, 0, 1, 3, 4, 10**9], "mirostat": [1, 2], "mirostat_tau": [0, -1, 1e300], "mirostat_eta": [1e300, -5], "temperature": [0, 1e-30, 1e30], "top_p": [0, 1], "typical_p": [0, 1e-9, -1], "top_k": [1, 0, 10**9],
    "repeat_penalty": [0, -1, 1e300, 1e-300], "dry_multiplier": [1e300, -3], "dry_base": [1e300], "dry_allowed_length": [0, 2**31 - 1], "dynatemp_range": [1e300], "dynatemp_exponent": [-1e300, 1e300], "xtc_probability": [1], "xtc_threshold": [0],
    "adaptive_target": [0.5], "adaptive_decay": [0.99, 2], "min_keep": [10**9], "ignore_eos": [True], "reasoning_budget_tokens": [0, 1, 2**30, -1], "reasoning_budget_message": ["x" * 3000, "</think>"], "reasoning_format": ["none", "auto", "deepseek-legacy"],
    "reasoning_effort": ["none", "x" * 5000], "continue_final_message": [True, "content", "reasoning_content"], "add_generation_prompt": [True, False], "max_tokens": [0, 1, -1, 2**31 - 1], "n_predict": [0, -1], "t_max_predict_ms": [0, 1], "n_indent": [1, 2**20],
    "n_keep": [-1, 5], "n_cache_reuse": [0, 256], "cache_prompt": [False], "return_progress": [True], "return_tokens": [True], "timings_per_token": [True], "verbose": [True], "lora": [[], [{"id": 0}]], "sse_ping_interval": [-1, 0, 1],
    "prompt": ["", [], [[]], [1] * 600, ["a"] * 1025, ["a", "b"] * 100, [[1]] * 300, {"prompt_string": "x", "multimodal_data": ["AA=="]}, "x" * 40000, [512], [-1], [0.5], "\U0001F600" * 3000], "encoding_format": ["float", "int"], "dimensions": [1, 128], "embd_normalize": [-1, 0, 1, 64, 65],
    "filename": ["", ".", "..", "../x", "/etc/passwd", "a\0b", "x" * 300, "CON", "slot.bin", "-", "no-such"], "suffix": ["x"], "echo": [True], "best_of": [1, 2], "previous_response_id": ["x"], "text": [{"format": {"type": "json_object"}}], "thinking": [{"type": "adaptive"}],
}


def places(value, out=None):
    """Every (container, key) below a value."""
    out = [] if out is None else out
    if isinstance(value, (dict, list)) and not isinstance(value, Members):
        for key in (value if isinstance(value, dict) else range(len(value))):
            out.append((value, key))
            places(value[key], out)
    return out


def cut_up(rng, text):
    """A text with pieces removed, repeated, swapped and odd ones put in."""
    if isinstance(text, bytes): return text
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randint(0, len(text)) for _ in range(2))
        how = rng.randrange(5)
        if how == 0: text = text[:a] + text[b:]
        elif how == 1: text = text[:b] + text[a:b] * rng.choice([1, 2, 30]) + text[b:]
        elif how == 2: text = text[b:] + text[:b]
        elif how == 3: text = text[:a] + rng.choice(["*", "+", "?", "{2,}", "{,9}", "(", ")", "[", "]", "^", "|", "\"", "\\", "\n", "::=", "<", ">", "{", "}", ":", ",", "\0", "\u00e9", "\ud800"]) + text[a:]
        else: text = text[:a] + rng.choice([t for t in TEXTS if isinstance(t, str) and len(t) < 100]) + text[b:]
    return text[:200000]


def odd_schema(rng):
    schema = copy.deepcopy(rng.choice(SCHEMAS + [WEATHER, SCHEMA["json_schema"]["schema"]] * 8))
    if isinstance(schema, bytes): return schema
    if rng.random() < 0.2: return {"type": "string", "pattern": cut_up(rng, rng.choice(PATTERNS)) if rng.random() < 0.5 else rng.choice(PATTERNS)}
    for _ in range(rng.randint(0, 2)):
        spots = places(schema)
        if not spots: break
        container, key = rng.choice(spots)
        container[key] = copy.deepcopy(rng.choice(rng.choice([SCHEMAS, NUMBERS, OTHERS[:14]])))
    return schema


def odd_value(rng, name):
    if name in FIELDS and rng.random() < 0.7:
        value = copy.deepcopy(rng.choice(FIELDS[name]))
        if name == "json_schema": value = odd_schema(rng)
        if name == "grammar" and rng.random() < 0.4: value = cut_up(rng, value)
        return value
    if name in ("schema", "parameters", "input_schema"): return odd_schema(rng)
    if name == "pattern": return rng.choice(PATTERNS)
    return copy.deepcopy(rng.choice(rng.choice([NUMBERS, TEXTS, OTHERS])))


def mutate_json(rng, body):
    for _ in range(rng.choice([1, 1, 1, 1, 1, 2, 2, 3, 5])):
        spots = places(body)
        how = rng.randrange(10)
        if how <= 1 or not spots:
            name = rng.choice(list(FIELDS))
            if isinstance(body, dict): body[name] = odd_value(rng, name)
            continue
        container, key = rng.choice(spots)
        if how <= 4: container[key] = odd_value(rng, key if isinstance(key, str) else "")
        elif how == 5: del container[key]
        elif how == 6 and isinstance(container, list): container[key:key] = copy.deepcopy(container[key:key + 1]) * rng.choice([1, 2, 50, 1000])
        elif how == 6: container[key] = [copy.deepcopy(container[key])] * rng.choice([1, 3])
        elif how == 7 and isinstance(container[key], str): container[key] = cut_up(rng, container[key])
        elif how == 7 and isinstance(container[key], dict):
            container[key] = Members(list(container[key].items()) * 2)
        elif how == 8:
            other, there = rng.choice(spots)
            container[key] = copy.deepcopy(other[there])
        else: container[key] = {"type": copy.deepcopy(container[key])} if rng.random() < 0.5 else [copy.deepcopy(container[key])]
    return body


def damage(rng, data):
    """Bytes as they come out of a bad line."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(5)
        if how == 0 and at < len(data): data[at] ^= 1 << rng.randrange(8)
        elif how == 1: data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 2, 30])))
        elif how == 2: del data[at:at + rng.choice([1, 3, 40])]
        elif how == 3: data[at:at] = data[:at][-rng.choice([1, 20, 200]):]
        else: data[at:at] = rng.choice([b"\r\n", b"\r\n\r\n", b"\n", b"\0", b":", b" ", b"\t", b"%00", b"%zz", b"/../", b"?", b"#", b"\xff", b'"', b"}", b"]"])
    return bytes(data)


def whole_body(rng, body):
    """The bytes of a mutated body, mostly JSON."""
    if body is None: return rng.choice([b"", b"", b"{}", b"x"])
    data = spell(mutate_json(rng, copy.deepcopy(body)) if rng.random() < 0.97 else copy.deepcopy(rng.choice(OTHERS + NUMBERS + TEXTS)))
    if rng.random() < 0.08 and len(data) < 100000: data = damage(rng, data)
    return data[:6_000_000]   # the server is started with a limit of 4 MiB


def path_of(rng, path):
    if rng.random() > 0.03: return path
    return rng.choice([path + "?" + "a=1&" * 300, path + "/", "/" + path, path.upper(), path + "%00", path + "?%zz=%", path.replace("0", rng.choice(["-1", "99999999999999999999", "0x0", "%30", "..", " "])),
                       path + "/x" * 500, "/ui/../../etc/passwd", "/ui/%2e%2e/x", "/v1/models/" + "y" * 1500, path + "?action=", "*", "http://x" + path]).replace(" ", "%20")


HEADERS = [b"Content-Type: application/json", b"Accept: */*", b"Origin: http://evil.example", b"X-Request-Id: r-1", b"Authorization: Bearer x", b"Accept-Encoding: gzip, br", b"Expect: 100-continue", b"Range: bytes=0-5,7-,-3",
           b"Connection: close", b"Connection: keep-alive, Upgrade", b"Upgrade: h2c", b"Cookie: " + b"c" * 3000, b"X: " + b"y" * 9000, b"X-Request-Id: " + b"\xff\x00\"", b"Content-Encoding: gzip", b"Content-Encoding: br", b"Transfer-Encoding: gzip",
           b"Transfer-Encoding: chunked", b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 18446744073709551616", b"Content-Length: 99999999", b"Content-Type: multipart/form-data; boundary=b", b"Content-Type: text/plain; charset=utf-16",
           b" folded: x", b"NoColon", b": empty", b"Sp ace: x", b"Host: a\r\nHost: b", b"X-Forwarded-For: 1.2.3.4", b"Content-Type: application/x-www-form-urlencoded", b"TE: trailers", b"Trailer: X"]


def request_bytes(method, path, body, extra=(), length=None):
    lines = [f"{method} {path} HTTP/1.1".encode("utf-8", "surrogatepass"), b"Host: fuzz", *extra]
    if body or method == "POST": lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(rng, method, path, body, extra):
    """The body in chunks, sometimes wrongly framed."""
    head = b"\r\n".join([f"{method} {path} HTTP/1.1".encode("utf-8", "surrogatepass"), b"Host: fuzz", b"Transfer-Encoding: chunked", *extra]) + b"\r\n\r\n"
    out, at = b"", 0
    while at < len(body):
        n = rng.choice([1, 7, 100, 5000])
        piece = body[at:at + n]
        size = b"%x" % len(piece)
        if rng.random() < 0.05: size = rng.choice([b"", b"-1", b"ffffffffffffffff", b"10000000000000000", b"0x5", b"zz", b"%x;ext=1" % len(piece), b" " * 300 + b"5", b"0" * 5000])
        out += size + b"\r\n" + piece + (b"\r\n" if rng.random() > 0.03 else b"")
        at += n
        if len(out) > 60000: break
    return head + out + rng.choice([b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"", b"0\r\n"])


def wire(rng, method, path, body):
    """(pieces to send one after the other, whether the client hangs up after the last): a request damaged on the HTTP level."""
    extra = [rng.choice(HEADERS) for _ in range(rng.randint(0, 4))]
    data = b"" if body is None else spell(body)
    how = rng.randrange(12)
    if how == 0: return [damage(rng, request_bytes(method, path, data, extra))], False
    if how == 1: return [request_bytes(method, path, data, extra, length=max(0, len(data) + rng.choice([-30, -1, 1, 50, 10**6])))], True
    if how == 2: return [chunked(rng, method, path, data, extra)], True
    if how == 3: return [chunked(rng, method, path, data, [])], False
    if how == 4:   # several at once, the last perhaps in part
        many = b"".join(request_bytes(method, path, data, extra if i else []) for i in range(rng.randint(2, 6)))
        return [many[:rng.randint(len(many) // 2, len(many))]], True
    if how == 5:
        whole = request_bytes(method, path, data, extra)
        return [whole[:rng.randint(0, len(whole))]], True
    if how == 6:   # in small pieces
        whole = request_bytes(method, path, data)
        cuts = sorted(rng.randint(0, len(whole)) for _ in range(rng.randint(1, 12)))
        return [whole[a:b] for a, b in zip([0] + cuts, cuts + [len(whole)])], False
    if how == 7: return [request_bytes(rng.choice(["GET", "PUT", "DELETE", "PATCH", "HEAD", "TRACE", "CONNECT", "PRI", "get", "", "X" * 300, "G\0T"]), path, data, extra)], True
    if how == 8: return [bytes(rng.randrange(256) for _ in range(rng.choice([1, 5, 100, 3000])))], True
    if how == 9: return [request_bytes(method, path, data).replace(b"HTTP/1.1", rng.choice([b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2", b"http/1.1", b"", b"HTTP/1.1 x"]), 1)], True
    if how == 10: return [request_bytes(method, path, data, [rng.choice([b"A%d: b" % i, b"X: y"]) for i in range(rng.choice([50, 150, 3000]))])], True
    return [request_bytes(method, path, data, extra)], True
