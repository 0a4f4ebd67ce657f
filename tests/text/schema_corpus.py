"""Writes schema_corpus.json: schemas, and documents with the verdict of Python's jsonschema (Draft 2020-12).

    python3 tests/text/schema_corpus.py > tests/text/schema_corpus.json

Objects are closed and in the schema's order, as the grammar writes them: every object schema here says
additionalProperties itself, and the documents keep the order, so that the verdicts are comparable.
"""
import json
import random
import jsonschema

R = random.Random(5)
LEAVES = [
    {"type": "string"}, {"type": "string", "minLength": 2}, {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 1, "maxLength": 4}, {"type": "string", "pattern": "^[a-c]+\\d{2,3}$"},
    {"type": "string", "pattern": "b"}, {"type": "string", "pattern": "^(?:x|y\\.z)*$"},
    {"type": "string", "pattern": "^[^a]{1,3}$"}, {"type": "string", "pattern": "^a|b$"},
    {"type": "integer"}, {"type": "integer", "minimum": -7, "maximum": 12}, {"type": "integer", "exclusiveMinimum": 0},
    {"type": "integer", "minimum": 99, "exclusiveMaximum": 1001}, {"type": "integer", "maximum": -3},
    {"type": "integer", "minimum": -1234, "maximum": -56}, {"type": "integer", "minimum": 1.5, "maximum": 10.5},
    {"type": "integer", "multipleOf": 7}, {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "number", "exclusiveMinimum": -2.5, "exclusiveMaximum": 10.25}, {"type": "number", "minimum": 0.125},
    {"type": "number", "maximum": -0.5}, {"type": "number"}, {"type": "number", "minimum": 3.1, "maximum": 3.14},
    {"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"type": ["integer", "boolean"]},
    {"enum": ["a", "b\"c", 1, None, [1, 2], {"k": "v"}]}, {"const": "x"}, {"enum": ["aa", "b", 3], "type": "string"},
    {"enum": ["a", "bbb", "cc"], "minLength": 2, "type": "string"}, {"const": 5},
]


def schema(depth):
    kind = R.randrange(9) if depth else 0
    if kind <= 2:
        return R.choice(LEAVES)
    if kind <= 4:
        names = R.sample(["a", "b", "ab", "ac", "id", "na\"me", "é"], R.randrange(0, 5))
        s = {"type": "object", "properties": {n: schema(depth - 1) for n in names},
             "required": [n for n in names if R.random() < 0.5],
             "additionalProperties": R.choice([False, False, True, {"type": "integer"}])}
        return s
    if kind <= 6:
        s = {"type": "array", "items": schema(depth - 1)}
        if R.random() < 0.5:
            s["minItems"] = R.randrange(0, 3)
        if R.random() < 0.5:
            s["maxItems"] = s.get("minItems", 0) + R.randrange(0, 3)
        return s
    if kind == 7:
        return {"anyOf": [schema(depth - 1), schema(depth - 1)]}
    return {"allOf": [{"type": ["string", "integer", "null"]}, R.choice([{"type": "string", "minLength": 1},
            {"minimum": 3, "type": ["integer", "null"]}, {"enum": ["q", 4]}])]}


STRINGS = ["", "a", "b", "x", "ab", "abc", "abcd", "abcde", "a12", "cc123", "a1234", "xy.z", "y.z", "xx", "é", "éé",
           "日本語", "\t", "\"", "\\", "b\"c", "aa", "bbb", "cc", "q", "xb", "ax", "😀", "\u0001"]
NUMBERS = [0, 1, -1, 2, 3, 4, 5, 7, 11, 12, 13, -7, -8, -3, -2, 14, 21, 70, 72, 99, 98, 100, 1000, 1001, -55, -56,
           -1234, -1235, 9, 10, 0.5, 1.5, 0.125, 0.1249, 3.1, 3.11, 3.14, 3.15, 3.09, -0.5, -0.49, -2.5, -2.4999,
           10.25, 10.2499, 1.0001, 0.999, 123456]


def anything(depth):
    kind = R.randrange(7 if depth else 4)
    if kind == 0:
        return R.choice(STRINGS)
    if kind == 1:
        return R.choice(NUMBERS)
    if kind == 2:
        return R.choice([True, False, None])
    if kind == 3:
        return R.choice(STRINGS + NUMBERS)
    if kind in (4, 5):
        return [anything(depth - 1) for _ in range(R.randrange(3))]
    return {R.choice(["a", "b", "ab", "zz"]): anything(depth - 1) for _ in range(R.randrange(3))}


def near(s, depth=5):
    """A document that is likely to fit, in the schema's order."""
    if R.random() < 0.08 or depth == 0:
        return anything(1)
    if "anyOf" in s:
        return near(R.choice(s["anyOf"]), depth - 1)
    if "allOf" in s:
        return R.choice(["q", 4, 3, 2, None, "", "w"])
    if "enum" in s:
        return R.choice(s["enum"])
    if "const" in s:
        return s["const"]
    t = s["type"]
    t = R.choice(t) if isinstance(t, list) else t
    if t == "object":
        out = {n: near(p, depth - 1) for n, p in s["properties"].items()
               if R.random() < (0.95 if n in s["required"] else 0.5)}
        extra = s["additionalProperties"]
        if R.random() < (0.5 if extra else 0.1):
            for name in R.sample(["x", "abc", "b2", "i", "\u0002é"], R.randrange(1, 3)):
                out[name] = R.choice(NUMBERS) if extra is not True else anything(1)
        return out
    if t == "array":
        return [near(s["items"], depth - 1) for _ in range(R.randrange(0, 5))]
    if t == "string":
        return R.choice(STRINGS)
    if t == "integer":
        return R.choice([n for n in NUMBERS if isinstance(n, int)])
    return R.choice(NUMBERS) if t == "number" else R.choice([True, False]) if t == "boolean" else None


def compact(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


out = []
schemas = [json.loads(json.dumps(s)) for s in LEAVES] + [schema(3) for _ in range(260)]
for s in schemas:
    validator = jsonschema.Draft202012Validator(s)
    yes, no = [], []
    for d in [near(s) for _ in range(60)]:
        text = compact(d)
        (yes if validator.is_valid(d) else no).append(text)
    out.append({"schema": s, "yes": sorted(set(yes))[:14], "no": sorted(set(no))[:14]})
print("[" + ",\n".join(json.dumps(e, ensure_ascii=True, separators=(",", ":")) for e in out) + "]")
