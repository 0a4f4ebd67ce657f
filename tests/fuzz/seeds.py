#!/usr/bin/env python3
"""Writes what the libFuzzer targets start from: seeds.py FOLDER makes FOLDER/<target>/ and FOLDER/<target>.dict, out of
the corpora of the tests."""
import hashlib, json, pathlib, struct, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "serve" / "fuzz"))
import mutate

OUT = pathlib.Path(sys.argv[1])


def put(target, data):
    folder = OUT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def dictionary(target, words):
    lines = ("".join(chr(b) if 32 < b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word.encode()) for word in words)
    (OUT / f"{target}.dict").write_text("".join(f'"{line}"\n' for line in lines))


def jinja():
    for line in (HERE.parent / "text" / "jinja_corpus.jsonl").read_text().split("\n"):
        if not line: continue
        template = json.loads(line).get("template")
        if template and len(template) < 2000: put("jinja", template.encode())
    words = "for in if elif else endfor endif set endset macro endmacro call endcall filter endfilter raw endraw generation break continue recursive loop namespace messages tools role content"
    words += " tojson indent= upper join map select selectattr groupby sort dictsort batch slice round format replace split items strip is defined none mapping iterable not and or range( {{- -}} {%- -%} {# #} ~ | ** // [::-1]"
    dictionary("jinja", words.split())


def schemas():
    for case in json.loads((HERE.parent / "text" / "schema_corpus.json").read_text()):
        put("schema", json.dumps(case["schema"]).encode())
        put("grammar", b"\1" + json.dumps(case["schema"]).encode())
    for schema in mutate.SCHEMAS:
        if len(mutate.spell(schema)) < 4000: put("schema", mutate.spell(schema))
    words = "type properties required additionalProperties items prefixItems minItems maxItems uniqueItems enum const anyOf oneOf allOf not $ref $defs definitions pattern format minLength maxLength minimum maximum"
    words += " exclusiveMinimum exclusiveMaximum multipleOf string number integer boolean null object array date-time uuid ipv4 email propertyNames patternProperties minProperties if then else title description nullable #/"
    dictionary("schema", words.split())


def grammars():
    for grammar in mutate.GRAMMARS:
        if len(grammar) < 4000: put("grammar", b"\0" + grammar.encode("utf-8", "replace"))
    for pattern in mutate.PATTERNS:
        put("grammar", b"\2" + pattern.encode("utf-8", "replace"))
        put("grammar", b"\3" + pattern.encode("utf-8", "replace"))
    dictionary("grammar", ["root ::= ", "::=", "{2,5}", "{,3}", "{1,}", "[^a-z]", "\\x41", "\\u00e9", "[\\p{L}]", "(?:", "\\d", "\\w", "\\s", "\\b", '"type":"string"', '"$ref":"#"', ".*"])


def texts():
    samples = ["Hello world, it's 12345 degrees!\n\n  (ok)", "\u00e9\u0301 \u4f60\u597d \U0001F600\U0001F468\u200d\U0001F469 \u0627\u0644", "a" * 300, " " * 200, "\r\n\t\r\n", "<|im_end|> x<|pad|>", "I'LL don't \u2019s", "1,000.5e-7"]
    for kind in range(9):
        for text in samples: put("tokenizer", bytes([kind]) + text.encode())
    dictionary("tokenizer", ["<|im_end|>", "<|endoftext|>", "<s>", "</s>", "'ll", "\u4f60", "\U0001F600", "\u2581"])


def answers():
    samples = ['<think>\nhm\n</think>\n\nHi <tool_call>\n{"name": "add", "arguments": {"a": 1, "b": "x\\"y"}}\n</tool_call>\n<tool_call>', '[CALLS][{"name": "f", "arguments": {}, "id": "1"}, {"name": "g", "arguments": {"a": [1]}, "id": "2"}]</s>',
               '<call>add<sep>{"a": {"b": []}}</call> and more', "thought</think>ok<tool_call>add<key>a</key><value>1</value><key>b</key><value>text</value></tool_call>", '{"name": "x"}', "<tool_call>{", "<thin", "</think>"]
    for kind in (0, 1, 2, 3, 64, 65, 66, 67):
        for text in samples: put("chat_parse", bytes([kind, 3]) + text.encode())
    dictionary("chat_parse", ["<think>", "</think>", "<tool_call>", "</tool_call>", "[CALLS]", "<call>", "<sep>", "</call>", "<key>", "</key>", "<value>", "</value>", '{"name": "', '", "arguments": {', "}}", "<|im_end|>", "<|assistant|>"])


def ggufs():
    def text(s): return struct.pack("<Q", len(s)) + s.encode()
    def pair(key, kind, data): return text(key) + struct.pack("<I", kind) + data
    keys = [pair("general.architecture", 8, text("llama")), pair("a.b", 4, struct.pack("<I", 7)), pair("f", 6, struct.pack("<f", 1.5)), pair("flag", 7, b"\1"),
            pair("list", 9, struct.pack("<IQ", 8, 2) + text("x") + text("yy")), pair("ints", 9, struct.pack("<IQ3i", 5, 3, 1, 2, 3)), pair("general.alignment", 4, struct.pack("<I", 32))]
    infos = [text("t0") + struct.pack("<IQQIQ", 2, 32, 2, 0, 0), text("t1") + struct.pack("<IQIQ", 1, 32, 8, 256)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys)) + b"".join(keys) + b"".join(infos)
    put("gguf", head + b"\0" * (-len(head) % 32) + b"\1" * 320)
    put("gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    dictionary("gguf", ["GGUF", "general.alignment", "split.count", "split.no", "general.architecture"])


for make in (jinja, schemas, grammars, texts, answers, ggufs): make()
