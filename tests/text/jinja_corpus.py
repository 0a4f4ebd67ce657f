#!/usr/bin/env python3
"""Writes tests/text/jinja_corpus.jsonl: template cases with what Python's jinja2 makes of them.

Usage: jinja_corpus.py [TEMPLATES_FOLDER] > jinja_corpus.jsonl   (needs jinja2 3.1.6)

The environment is that of Hugging Face's apply_chat_template, plus the filter from_json. Each line is a case: `template`
(or `file`, a name in the templates folder), `context` or the name of one (`use`), and `output` or `error` as in the
golden renderings. Lines with `define` name a context.
"""
import copy
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 11, 30, 12, 34, 56)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


ENV = environment()


def outcome(source, context):
    try:
        template = ENV.from_string(source)
    except (jinja2.TemplateSyntaxError, SyntaxError):
        return {"error": "syntax"}
    try:
        return {"output": template.render(**copy.deepcopy(context))}
    except jinja2.exceptions.SecurityError:
        return {"error": "security"}
    except jinja2.exceptions.UndefinedError:
        return {"error": "undefined"}
    except Exception as e:  # noqa: BLE001
        if type(e) is jinja2.exceptions.TemplateError:
            return {"error": "raise_exception", "message": str(e)}
        return {"error": "runtime", "kind": type(e).__name__}


CONTEXT = {
    "l": [3, 1, 2], "s": " Hello World ", "d": {"b": 1, "a": "x", "c": [1, 2]}, "n": None, "t": True, "f": False,
    "i": 7, "x": 2.5, "e": [], "q": "it's \"q\" <&> é 中", "u": "Straße ǅ ΑΣ ÿ 日本", "big": 12345678901234567890,
    "neg": -7, "z": 0, "es": "", "ed": {}, "mix": [1, "a", None, 2.5, [1], {"k": 1}],
    "p": [{"k": "a", "v": 1, "on": True}, {"k": "b", "v": 2, "on": False}, {"k": "a", "v": 3}],
    "names": ["bob", "Alice", "carol", "Bob", "alice"],
    "nest": [{"u": {"n": "Z", "t": [1, 2]}}, {"u": {"n": "a", "t": [3]}}, {"u": {"n": "M", "t": []}}],
    "text": "line one\nline two\n\n  line four\r\nlast", "words": "the quick brown fox jumps over the lazy dog",
    "ds": {"items": "own", "keys": 1, "get": 2, "_p": 3}, "html": "<b class=\"x\">1 & 2</b> <!-- c --> 'z'",
}
VALUES = ["l", "s", "d", "n", "t", "f", "i", "x", "e", "q", "u", "big", "neg", "z", "es", "ed", "mix", "p", "names",
          "nope", "range(3)", "d.items()", "d.keys()", "(1, 'a')", "'42'", "' 3.5 '", "-0.0", "1e300", "l|map('string')"]


def expressions():
    unary_filters = ["abs", "capitalize", "center(11)", "count", "d('z')", "default('z', true)", "dictsort", "e",
                     "filesizeformat", "first", "float", "forceescape", "int", "items|list", "join", "join(', ')", "last",
                     "length", "list", "lower", "max", "min", "reverse|list", "round", "safe", "sort", "string", "striptags",
                     "sum", "title", "tojson", "trim", "unique|list", "upper", "urlencode", "wordcount", "xmlattr",
                     "tojson(indent=2)", "indent", "batch(2)|list", "slice(2)|list", "map('string')|list", "select|list",
                     "reject|list", "truncate(5)", "replace('l', 'L')", "pprint", "attr('real')"]
    for f in unary_filters:
        for v in VALUES:
            yield "{{ %s|%s }}" % (v, f)
    tests = ["boolean", "callable", "defined", "divisibleby(2)", "escaped", "even", "false", "float", "integer", "iterable",
             "lower", "mapping", "none", "number", "odd", "sequence", "string", "true", "undefined", "upper", "in l",
             "eq(1)", "sameas(none)", "gt(1)", "filter", "test"]
    for t in tests:
        yield "|".join("{{ %s is %s }}" % (v, t) for v in VALUES if t not in (
            "divisibleby(2)", "even", "odd", "in l", "gt(1)", "filter", "test"))
        for v in VALUES:
            if t in ("divisibleby(2)", "even", "odd", "in l", "gt(1)", "filter", "test"):
                yield "{{ %s is %s }}" % (v, t)
    operators = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">=", "in", "and", "or"]
    pairs = [("i", "2"), ("i", "-2"), ("neg", "2"), ("neg", "-3"), ("x", "2"), ("x", "-0.75"), ("big", "3"), ("big", "big"),
             ("s", "'o'"), ("s", "2"), ("l", "l"), ("l", "2"), ("t", "t"), ("t", "1"), ("n", "n"), ("n", "1"), ("d", "d"),
             ("nope", "1"), ("1", "nope"), ("nope", "nope2"), ("z", "z"), ("i", "0"), ("x", "0.0"), ("'a'", "'abc'"),
             ("1", "l"), ("'b'", "d"), ("(1, 2)", "(1, 3)"), ("l", "(3, 1, 2)"), ("1", "1.0"), ("es", "n"),
             ("9223372036854775807", "1"), ("-9223372036854775807 - 1", "-1"), ("'x'", "l"), ("2", "100"), ("1", "'1'")]
    for op in operators:
        for a, b in pairs:
            if op == "**" and "big" in (a, b):
                continue  # Python would take hours
            yield "{{ (%s) %s (%s) }}" % (a, op, b)


STRING_METHODS = """
s.strip()|s.strip(' H')|s.lstrip()|s.rstrip('d ')|s.upper()|s.lower()|s.title()|s.capitalize()|s.swapcase()|u.upper()
u.lower()|u.title()|u.capitalize()|u.swapcase()|u.casefold()|'ΑΣ'.lower()|'ŉ ǆ ß ﬁ'.title()|'ŉ ǆ ß ﬁ'.upper()
s.center(20)|s.center(20, '*')|'ab'.center(5)|'abc'.center(6, '-')|s.ljust(16, '.')|s.rjust(16, '.')|'x'.ljust(0)
'42'.zfill(5)|'-42'.zfill(5)|'+4'.zfill(4)|'abc'.zfill(2)|s.find('o')|s.find('o', 6)|s.find('o', 0, 3)|s.rfind('o')
s.find('')|s.find('', 99)|s.rfind('')|'é中é'.find('é', 1)|'é中é'.rfind('é')|s.index('o')|s.index('zz')|s.rindex('o')
s.count('o')|s.count('')|'aaaa'.count('aa')|s.count('l', 4)|s.count('l', -5, -1)|s.startswith(' H')|s.startswith('H', 1)
s.startswith(('x', ' '))|s.endswith('d ')|s.endswith(('x',))|s.startswith('')|s.startswith('', 99)|s.startswith(1)
'a,b,,c'.split(',')|'a,b,,c'.split(',', 2)|' a  b c '.split()|' a  b c '.split(none, 1)|''.split()|''.split(',')
'a b c'.rsplit()|'a b c'.rsplit(none, 1)|'a,b,c'.rsplit(',', 1)|'a,b,c'.split(sep=',')|'a,b,c'.split(maxsplit=1, sep=',')
'a'.split('')|'a<>b<>c'.split('<>')|' a b '.rsplit(' ', 1)|text.splitlines()|text.splitlines(true)|''.splitlines()
'a\\n'.splitlines()|'a\\x0bb\\x0cc\\x1cd\\x85e\\u2028f'.splitlines()|'a=b=c'.partition('=')|'a=b=c'.rpartition('=')
'abc'.partition('=')|'abc'.rpartition('=')|'a'.partition('')|'-'.join(['a', 'b'])|'-'.join('abc')|'-'.join([1])
', '.join(d)|''.join([])|'aXbXc'.replace('X', '')|'aXbXc'.replace('X', '--', 1)|'abc'.replace('', '-')
'abc'.replace('', '-', 2)|'aaa'.replace('aa', 'b')|'a'.replace('a')|'a'.replace('a', 'b', count=1)|'a\\tb'.expandtabs()
'a\\tb\\tc'.expandtabs(4)|'abc'.removeprefix('ab')|'abc'.removesuffix('bc')|'abc'.removeprefix('x')|'abc'.removesuffix('')
'abc1'.isalnum()|'abc'.isalpha()|'é中'.isalpha()|'a1'.isalpha()|''.isalpha()|'12'.isdigit()|'²'.isdigit()|'²'.isdecimal()
'½'.isnumeric()|'٣'.isdecimal()|'abc'.islower()|'aBc'.islower()|'1a'.islower()|'1'.islower()|'ABC'.isupper()|'A1'.isupper()
'Ab Cd'.istitle()|'AB'.istitle()|'ab'.istitle()|' \\t\\n'.isspace()|''.isspace()|'a b'.isidentifier()|'ab_1'.isidentifier()
'1a'.isidentifier()|'abc'.isascii()|'é'.isascii()|''.isascii()|'a\\n'.isprintable()|'é'.isprintable()|''.isprintable()
'a'.nosuch|'a'.nosuch()|'{} {}'.format(1, 'a')|'{1} {0}'.format(1, 2)|'{a}-{b!r}'.format(a=1, b='x')|'{:>5}|{:<5}|{:^5}'.format(1, 2, 3)
'{:*^7}'.format('ab')|'{:05d}'.format(42)|'{:+d} {: d}'.format(5, 5)|'{:x} {:X} {:o} {:b} {:#x}'.format(255, 255, 8, 5, 255)
'{:,}'.format(1234567)|'{:_}'.format(1234567)|'{:.2f}'.format(3.14159)|'{:8.3f}|'.format(2.5)|'{:e}'.format(12345.678)
'{:g} {:g} {:g}'.format(1e10, 0.0001, 123.0)|'{:.3}'.format('abcdef')|'{:%}'.format(0.25)|'{:.1%}'.format(0.256)|'{{}}'.format()
'{0[1]} {1[a]}'.format([1, 2], {'a': 3})|'{0.real}'.format(5)|'{}'.format()|'{x}'.format()|'{'.format()|'}'.format()|'{:d}'.format('a')
'{:s}'.format(1)|'{:c}'.format(233)|'{!r}'.format('a')|'{:>{}}'.format('a', 4)|'{:,.2f}'.format(12345.678)|'{:.0f}'.format(2.5)
'{}{}'.format('a')|'{0}{}'.format(1)|'{:10}|'.format(true)|'{:10}|'.format(1.5)|'{:<10}|'.format(none)|'{}'.format(none)
'{a}'.format_map({'a': 1})|'%s' % 1|'%s %s' % (1, 'a')|'%d' % 3.7|'%5d|%-5d|%05d' % (1, 2, 3)|'%x %X %o' % (255, 255, 8)
'%.2f' % 3.14159|'%e' % 12345.678|'%g' % 0.00001|'%r' % 'a'|'%%' % ()|'%(a)s %(b)d' % {'a': 'x', 'b': 2}|'%s' % (1, 2)
'%s %s' % 1|'%d' % 'a'|'%c%c' % (65, 'b')|'%+d % d' % (1, 2)|'%10s|%-10s|' % ('a', 'b')|'%.2s' % 'abc'|'%*d' % (5, 42)
'%s' % [1, 2]|'%s' % none|'%q' % 1|'%' % ()|'%#x' % 255|'%i' % true|'%.3d' % 7|'%s' % {'a': 1}|'%05.1f' % 2.25|'%s' % nope
'a'.encode|'abc'[1]|'abc'[-1]|'abc'[5]|'abc'[1:]|'é中日'[1]|'é中日'[::-1]|'é中日'[1:3]|'abcdef'[::2]|'abcdef'[4:1:-1]|'abc'['x']
'abc'[1.0]|'abc'[none:2]|'abc'[::0]|l[1:][0]|l[-2:]|l[::-1]|l[5:]|l[1.5]|l['a']|l[true]|(1, 2, 3)[::2]|n[1:]|d[1:]
range(10)[2:5]|list(1)|range(5)[::-1]|list|range(0)|list|range(10, 0, -3)|list|range(1, 2, 0)|range('a')|range(3)[5]|range(1000000)
"""

MORE = r"""
{{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 123456789.123 }} {{ 1e-4 }} {{ 1e-5 }} {{ 1.5e300 }} {{ -0.0 }} {{ 1e22 }} {{ 0.1 + 0.2 }}
{{ 100 / 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % -3 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }}
{{ 2 ** 64 }} {{ 2 ** 200 }} {{ (2 ** 64) // 3 }} {{ (2 ** 64) % 1000 }} {{ -(2 ** 64) // 7 }} {{ -(2**70) % 13 }} {{ 2**64 - 2**64 }}
{{ 9223372036854775807 * 3 }} {{ 99999999999 * 99999999999 }} {{ 2**64 == 2.0**64 }} {{ 2**64 > 1e19 }} {{ (2**64)|float }} {{ 1e20|int }}
{{ 10 ** 20 / 3 }}|{{ 10**30 }}|{{ '%d' % 10**20 }}|{{ (10**20)|tojson }}|{{ '99999999999999999999'|int + 1 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5 }} {{ 1e1_0 }} {{ 00 }}
{{ 012 }}
{{ 1.foo }}|{{ 1.5.foo }}
{{ 'a' 'b' "c" }}|{{ 'it''s' }}
{{ 'a\qb' }}|{{ 'a\
b' }}|{{ '\101\x42\u0043\U00000044\a\b\f\v\0' | tojson }}
{{ "\N{BULLET}" if false }}
{{ not n }} {{ not not l }} {{ not (1 == 2) and t }} {{ n or e or 'last' }} {{ 1 and 2 and 3 }} {{ 0 and nope.x }} {{ 1 or nope.x }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 > 2 > 1 == 1 }} {{ 1 in [1] in [[1]] }} {{ 1 == 1 in [1] }} {{ 'a' not in 'bc' }} {{ not 'a' in 'abc' }}
{{ 1 if t }}|{{ 1 if f }}|{{ (1 if f) is defined }}|{{ 1 if f else 2 if f else 3 }}|{{ (1 if f).x }}
{{ [1, 2] + [3] }} {{ (1,) + (2,) }} {{ [1] + (2,) }}
{{ {'a': 1, 'b': {'c': [1, (2,)]}} }} {{ {1: 'x', none: 2, true: 3, 1.5: 4} }} {{ {} }} {{ {'a': 1}['a'] }} {{ {1: 2}[1.0] }} {{ {(1, 2): 3}[(1, 2)] }}
{{ {[1]: 2} }}
{{ {'a': 1, 'a': 2} }}|{{ {1: 'a', true: 'b', 1.0: 'c'} }}
{{ ds.items }}|{{ ds['items'] }}|{{ ds.keys() | list }}|{{ ds._p }}|{{ ds['_p'] }}|{{ ds.get('get') }}|{{ ds['nope'] is defined }}|{{ ds.nope }}
{{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.get('b') }} {{ d.items() }} {{ d.values() }} {{ d.keys() }} {{ 'a' in d.keys() }} {{ 1 in d.values() }}
{{ d.pop('a') }}
{{ l.append(4) }}
{{ l.sort() }}
{{ d.setdefault('z', 1) }}
{{ d.clear }}|{{ d.clear is defined }}|{{ l.append is callable }}
{{ l.copy() }} {{ d.copy() }} {{ l.index(1) }} {{ l.count(3) }} {{ l.index(99) }}
{{ ''.__class__ }}|{{ ''.__class__.__mro__ }}
{{ l.__len__() }}
{{ l.__nosuch__ }}|{{ n.__class__ is defined }}
{{ nope.a }}
{{ nope['a'] }}
{{ nope() }}
{{ nope.a.b is defined }}
{{ d.nope.a }}
{{ d.nope is defined }}{{ d.nope }}{{ d['nope'] | default('x') }}
{{ nope | upper }}|{{ nope | length }}|{{ nope | list }}|{{ nope | join(',') }}|{{ nope | string }}|{{ nope | first }}|{{ nope | trim }}
{{ -nope }}
{{ nope < 1 }}
{{ nope == nope2 }} {{ nope != 1 }} {{ 1 in nope }} {{ nope in [1] }} {{ nope ~ 'a' }} {{ nope and 1 }} {{ nope is string }} {{ nope is iterable }}
{{ i() }}
{{ 'a'() }}
{{ (1)(2) }}
{{ i.bit_length() }} {{ x.is_integer() }} {{ i.real }} {{ i.imag }} {{ t.real }} {{ i.numerator }} {{ i.denominator }} {{ i.nope }}
{{ l | sort(reverse=true) }} {{ names | sort }} {{ names | sort(case_sensitive=true) }} {{ names | sort(true) }} {{ mix | sort }}
{{ p | sort(attribute='v', reverse=true) | map(attribute='k') | join }} {{ p | sort(attribute='k,v') | map(attribute='v') | list }}
{{ nest | sort(attribute='u.n') | map(attribute='u.n') | join(',') }} {{ nest | map(attribute='u.t.0') | list }} {{ nest | map(attribute='u.t.0', default=0) | list }}
{{ nest | sum(attribute='u.t.0') }}
{{ p | sum(attribute='v') }} {{ l | sum(start=10) }} {{ [[1], [2]] | sum(start=[]) }} {{ ['a'] | sum }}
{{ p | map(attribute='zz') | list }} {{ p | map(attribute='on', default='-') | list }}
{{ l | map('abs') | list }} {{ names | map('upper') | join('|') }} {{ names | map('replace', 'o', '0') | list }} {{ l | map('nosuch') | list }}
{{ l | map }}
{{ l | map() | list }}
{{ l | map('default', 5, boolean=true) | list }} {{ [0, 1] | map('default', 5, boolean=true) | list }}
{{ p | selectattr('on') | list | length }} {{ p | selectattr('v', '>', 1) | map(attribute='v') | list }} {{ p | rejectattr('k', 'eq', 'a') | list }}
{{ p | selectattr('on', 'undefined') | list }} {{ p | selectattr('nope.x') | list }}
{{ p | selectattr('k', 'in', ['b', 'c']) | map(attribute='v') | list }} {{ p | selectattr('v', 'odd') | map(attribute='v') | list }} {{ p | selectattr() | list }}
{{ l | select('odd') | list }} {{ l | select('nosuch') | list }}
{{ l | reject('divisibleby', 2) | list }} {{ mix | select('string') | list }} {{ mix | reject('none') | list | length }} {{ e | select('odd') | list }}
{{ names | unique | list }} {{ names | unique(true) | list }} {{ p | unique(attribute='k') | map(attribute='v') | list }} {{ [1, 1.0, true, '1'] | unique | list }}
{{ [[1], [1]] | unique | list }}
{{ p | groupby('k') }}|{% for k, g in p | groupby('k') %}{{ k }}={{ g | map(attribute='v') | join('+') }};{% endfor %}{{ (p | groupby('k'))[0].grouper }}{{ (p | groupby('k'))[0].list | length }}
{% for k, g in [{'c': 'X'}, {'c': 'x'}, {'c': 'b'}] | groupby('c') %}{{ k }}:{{ g | length }} {% endfor %}{% for k, g in [{'c': 'X'}, {'c': 'x'}] | groupby('c', case_sensitive=true) %}{{ k }}:{{ g | length }} {% endfor %}
{% for k, g in p | groupby('on', default=false) %}{{ k }}:{{ g | length }} {% endfor %}
{{ d | dictsort }} {{ d | dictsort(by='key', reverse=true) }} {{ {'b': 2, 'A': 1} | dictsort }} {{ {'b': 2, 'A': 1} | dictsort(true) }} {{ {'b': 2, 'a': 3, 'c': 1} | dictsort(false, 'value') }}
{{ d | dictsort(by='value') }}
{{ d | dictsort(by='x') }}
{{ names | min }} {{ names | max }} {{ names | max(case_sensitive=true) }} {{ p | max(attribute='v') }} {{ e | max }}|{{ e | min | default('none') }} {{ mix | max }}
{{ l | batch(2, 0) | list }} {{ l | batch(5, 'x') | list }} {{ l | slice(2, 0) | list }} {{ range(10) | slice(3) | list }} {{ range(10) | batch(4) | map('sum') | list }}
{{ l | slice(0) | list }}
{{ l | first }} {{ l | last }} {{ s | first }} {{ s | last }} {{ d | first }} {{ d | last }} {{ range(4) | last }} {{ e | first }} {{ e | last }} {{ i | first }}
{{ l | map('string') | last }}
{{ (l | map('string')) | length }}
{{ (l | map('string'))[0] }}|{{ l | map('string') | first }}|{{ l | reverse }}|x
{% set g = l | map('string') %}{{ g | list }}{{ g | list }}{{ true if g }}
{% if e | select %}truthy{% endif %}{% if e | list %}no{% endif %}
{{ 2.5 | round }} {{ 3.5 | round }} {{ -2.5 | round }} {{ 2.675 | round(2) }} {{ 1234.5 | round(-2) }} {{ 42 | round }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }} {{ 2.1 | round(0, 'ceil') }} {{ 2.15 | round(1, 'floor') }} {{ 7 | round(0, 'floor') }} {{ 1e300 | round(2) }}
{{ 2.5 | round(1, 'x') }}
{{ '3.7' | int }} {{ '0x1f' | int(base=16) }} {{ '1f' | int(base=16) }} {{ 'zz' | int(base=36) }} {{ '0b11' | int(0, 2) }} {{ '0o17' | int(0, 0) }} {{ ' 42 ' | int }} {{ '1_000' | int }} {{ '4e2' | int }} {{ 'abc' | int(5) }} {{ none | int }} {{ [] | int(3) }} {{ '-7' | int }} {{ 'inf' | int }} {{ true | int }} {{ '٣' | int }}
{{ '1e5' | float }} {{ 'inf' | float }} {{ 'nan' | float }} {{ '-Infinity' | float }} {{ '1_0.5' | float }} {{ 'x' | float(2) }} {{ none | float }} {{ '.5' | float }} {{ '5.' | float }} {{ '0x10' | float }} {{ true | float }}
{{ -5 | abs }} {{ (-5) | abs }} {{ (-2.5) | abs }} {{ true | abs }} {{ (-2**70) | abs }}
{{ 'hello world-foo (bar) [baz] {q} <t>' | title }} {{ "it's o'clock" | title }} {{ 'éa ßb' | title }} {{ 'HELLO' | capitalize }} {{ '' | capitalize }} {{ 'ǆ' | capitalize }}
{{ words | truncate(15) }}|{{ words | truncate(15, true) }}|{{ words | truncate(15, false, '…') }}|{{ words | truncate(40) }}|{{ words | truncate(39, leeway=0) }}|{{ words | truncate(2) }}
{{ words | wordwrap(10) }}|{{ words | wordwrap(3) }}|{{ words | wordwrap(3, false) }}|{{ 'abcdefghij kl' | wordwrap(4) }}|{{ words | wordwrap(20, wrapstring='\n> ') }}|{{ 'a  b   c' | wordwrap(3) }}|{{ '  lead' | wordwrap(4) }}|{{ 'x\n\ny z' | wordwrap(2) }}
{{ text | indent(3) }}|{{ text | indent(2, true) }}|{{ text | indent('> ', first=true, blank=true) }}|{{ text | indent(width=1) }}|{{ '' | indent(2, true) }}|{{ 'a\n' | indent(2) }}
{{ 'a.b.c' | replace('.', '') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 123 | replace(2, 'x') }} {{ 'abc' | replace('', '.') }} {{ 'abc' | replace(old='b', new='') }}
{{ '  x ' | trim }}| {{ 'xxaxx' | trim('x') }}|{{ 5 | trim }}|{{ '\u00a0a\u3000' | trim }}|{{ 'abc' | trim(chars='c') }}
{{ 'a b&c/d?e=é' | urlencode }} {{ {'a b': 1, 'c': 'é/'} | urlencode }} {{ [('x', 1), ('y', '&')] | urlencode }}
{{ html | escape }}|{{ html | e | e }}|{{ html | e | forceescape }}|{{ html | striptags }}|{{ ('<' | e) + '<' }}|{{ ('<' | e) ~ '<' }}|{{ '<' | safe }}|{{ ['<' | e] }}|{{ '<' | e is escaped }}|{{ ('a' | safe).upper() is escaped }}|{{ ('<' | e) * 2 }}
{{ {'class': 'a b', 'id': none, 'x': '<"'} | xmlattr }}|{{ {'a': 1} | xmlattr(false) }}|{{ {'a b': 1} | xmlattr }}
{{ 'hi %s, %d' | format('x', 3) }} {{ '%(a)s' | format(a=1) }} {{ '%s' | format }}
{{ 'a' | format(1, a=2) }}
{{ 1500 | filesizeformat }} {{ 1 | filesizeformat }} {{ 0 | filesizeformat }} {{ 999 | filesizeformat }} {{ 1024 | filesizeformat(true) }} {{ 123456789 | filesizeformat }} {{ 1e15 | filesizeformat(true) }} {{ '5000' | filesizeformat }} {{ 1e30 | filesizeformat }}
{{ 'a-b c_d é中 1.5' | wordcount }} {{ '' | wordcount }}
{{ d | tojson(sort_keys=true) }} {{ d | tojson(indent=0) }} {{ d | tojson(indent='--') }} {{ e | tojson(indent=2) }} {{ ed | tojson(indent=2) }} {{ [e, ed, [1]] | tojson(indent=1) }} {{ q | tojson }} {{ u | tojson(ensure_ascii=true) }} {{ '😀\x7f\x01' | tojson(ensure_ascii=true) }} {{ '\x7f\x01\u2028' | tojson }}
{{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ (1, 2) | tojson }} {{ 'nan' | float | tojson }} {{ 'inf' | float | tojson }} {{ 1e100 | tojson }} {{ 1.0 | tojson }} {{ big | tojson }} {{ {'a': {'b': [1, {'c': none}]}} | tojson(indent=2, separators=(',', ':')) }}
{{ {(1, 2): 3} | tojson }}
{{ range(3) | tojson }}
{{ l | map('string') | tojson }}
{{ {'b': 1, 1: 2} | tojson(sort_keys=true) }}
{{ d | tojson(2) }}|{{ d | tojson(true, 1) }}
{{ d | tojson(nope=1) }}
{{ '{"a": [1, 2.5, "x", null, true, -0.0, 1e3], "b": {"c": "\\u00e9\\ud83d\\ude00"}}' | from_json }}
{{ '{"a": 1, "a": 2}' | from_json }} {{ '[]' | from_json }} {{ ' 5 ' | from_json }} {{ '123456789012345678901' | from_json }} {{ '"x\\ty"' | from_json | tojson }} {{ 'NaN' | from_json }}
{{ '{a: 1}' | from_json }}
{{ '[1,]' | from_json }}
{{ '' | from_json }}
{{ 5 | from_json }}
{{ '01' | from_json }}
{{ d | attr('b') is defined }} {{ s | attr('upper') is defined }} {{ l | attr('append') is defined }} {{ i | attr('real') }}
{{ l | attr }}
{{ 'abc' | list | reverse | join }} {{ 'abc' | reverse }} {{ d | reverse | list }} {{ 5 | reverse }}
{{ 'a' | upper | lower | upper }} {{ 'a' | nosuch }}
{{ 'a' | upper('x') }}
{{ 'a' | default(default_value='b') }} {{ nope | default }}| {{ nope | d('x', boolean=false) }} {{ nope | default('a', 'b', 'c') }}
{{ 1 | string + 'a' }} {{ 1 ~ 2 | string }} {{ 'a' + 1 | string }} {{ -1 | abs }} {{ 2 + 3 | string | length }}
{{ 5 is divisibleby 5 }} {{ 5 is not divisibleby(2) }} {{ 5 is odd and 4 is even }} {{ 1 is in [1, 2] }} {{ 3 is not in [1] }} {{ 'a' is in 'abc' }} {{ i is eq 7 }} {{ i is sameas i }} {{ n is sameas none }} {{ i is == 7 }}
{{ i is divisibleby 7 | string }}|{{ i is odd is true }}
{{ i is odd == true }} {{ (i is odd) == true }} {{ not i is odd }} {{ i is not odd or true }} {{ x is number and x is float }}
{{ 1 is divisibleby }}
{{ 'a' is gt 1 }}
{{ 'x' is filter }} {{ 'tojson' is filter }} {{ 'in' is test }}
{{ dict(a=1, b=2) }} {{ dict([('a', 1)]) }} {{ dict({'a': 1}, b=2) }} {{ dict() }} {{ dict([1]) }}
{% set ns = namespace(a=1) %}{{ ns }} {{ ns.a }} {{ ns['a'] }} {{ ns.b }} {{ ns.b is defined }} {{ 'a' in ns }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a + ns.b }}{% set ns.a = 'n' %}{{ ns.a }}{% set ns.c, d = 1, 2 %}{{ ns.c }}{{ d }}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }} {{ cycler() }}
{% set j = joiner('; ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}{% set k = joiner() %}{{ k() }}a{{ k() }}b
{{ strftime_now('%A %a %d %B %b %m %y %Y %H %I %p %M %S %j %U %w %% %-d %-m %e %f') }}
{{ raise_exception('a' ~ 1) }}
{{ raise_exception() }}
{{ raise_exception(none) }}
{{ range(3) }} {{ range(1, 4) | list }} {{ range(5) | sum }} {{ 3 in range(5) }} {{ range(3) | length }} {{ range(100001) }}
{{ range(-5) | list }} {{ range(5, 1, -2) | list }} {{ range(true) | list }} {{ range(2.5) }}
{% for x in l %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.cycle('a', 'b') }} {% endfor %}
{% for x in l | map('string') %}{{ x }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.nextitem }} {% endfor %}
{% for x in l if x > 1 %}{{ loop.index }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.length }} {% else %}E{% endfor %}
{% for x in l if x > 5 %}{{ x }}{% else %}none{% endfor %}{% for x in nope %}x{% else %}none{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for k, v in d | dictsort %}{{ k }}{% endfor %}{% for c in 'é中' %}[{{ c }}]{% endfor %}
{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for a, b in [1] %}{% endfor %}
{% for a in 5 %}{% endfor %}
{% for x in l %}{% for y in l %}{{ loop.index }}{% if loop.last %}{{ x }} {% endif %}{% endfor %}{{ loop.index }}{% endfor %}
{% for x in l %}{% set outer = loop %}{% for y in [1, 2] %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}
{% for x in [1, 1, 2, 2, 1] %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}{% for x in l %}{{ loop.changed() }}{% endfor %}
{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}E{% endfor %}{% for x in l %}{% continue %}{% else %}E{% endfor %}{% for x in [] %}{% else %}E{% endfor %}
{% for x in l recursive %}{{ x }}{% endfor %}{% for x in [{'n': 1, 'c': [{'n': 2, 'c': [{'n': 3}]}]}] recursive %}{{ loop.depth }}{{ x.n }}{% if x.c %}<{{ loop(x.c) }}>{% endif %}{% endfor %}
{% for x in l %}{{ loop(l) }}{% endfor %}
{% for x in l %}{{ x }}{% endfor %}{{ x }}|{{ loop is defined }}
{% for loop in l %}{% endfor %}
{% for x in l %}{{ loop.nope }}{{ loop.cycle() }}{% endfor %}
{% for x in l %}{{ loop }}{% endfor %}
{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{{ x }}{% set ns.f = true %}{% endfor %}
{% set x = 1 %}{% for i in [1] %}{{ x }}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }}
{% if f %}{% set y = 1 %}{% endif %}{{ y }}|{{ y is defined }}{% if t %}{% set y = 2 %}{% endif %}{{ y }}
{% if f %}{% set i = 1 %}{% endif %}{{ i }}{% set i = 9 %}{{ i }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (a, b) = (b, a) %}{{ a }}{{ b }}{% set a, b = [1] %}
{% set a = 1, 2 %}{{ a }}{% set a = () %}{{ a }}
{% set x %}  a {{ i }} {% endset %}[{{ x }}]{% set x | upper | trim %}  a {% endset %}[{{ x }}]{% set ns = namespace() %}{% set ns.v %}q{% endset %}{{ ns.v }}
{% set true = 1 %}
{% set 1 = 2 %}
{% set a.b.c = 1 %}
{% set x.y = 1 %}
{% set d.b = 5 %}
{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% filter upper %}a{{ i }}b{% endfilter %}{% filter replace('a', 'b') | upper %}xax{% endfilter %}{% filter indent(2) %}a
b{% endfilter %}
{% macro m(a, b=2, *c) %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(a=4) }}{{ m(b=1) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}
{% macro m(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m() }}{{ m }}{{ m.name }}{{ m is callable }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, *[2, 3], x=1, **{'y': 2}) }}
{% macro m() %}a{% endmacro %}{{ m() ~ m() }}{{ m() | upper }}{{ m() == 'a' }}{% set x = m() %}{{ x }}
{% macro m(n) %}{{ n }}{{ m(n - 1) if n > 0 }}{% endmacro %}{{ m(5) }}
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}
{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ m() }}{% for g in [3] %}{{ m() }}{% endfor %}
{% macro m() %}{% set z = 5 %}{{ z }}{% endmacro %}{{ m() }}{{ z }}
{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body {{ i }}{% endcall %}{% set i = 1 %}{% call m() %}{{ i }}{% endcall %}
{% macro m(x) %}{{ caller(x, 2) }}{{ caller(1) }}{% endmacro %}{% call(a, b='d') m(9) %}<{{ a }}{{ b }}>{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}
{% call 5 %}{% endcall %}
{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}
{% generation %}a{% set w = 1 %}{{ w }}{% endgeneration %}{{ w }}
{% print 1, 'a' %}|{% print (1, 2) %}
{% raw %}{{ x }}{% if %}{# c #}{% endraw %}|{%- raw -%}  a  {%- endraw -%}|{% raw %}
x
  {% endraw %}
{% raw %}x
{# unclosed
{{ 'unclosed }}
{{ (1 }}
{{ 1) }}
{{ [1, 2 }}
{{ {'a' 1} }}
{{ a b }}
{{ 1 + }}
{{ }}
{{ () }}{{ (1,) }}{{ 1, 2 }}
{{ a. }}
{{ l[] }}
{{ l[1, 2] }}
{{ d['a', 'b'] is defined }}
{{ f(a=1, 2) }}
{{ f(**d, a=1) }}
{{ dict(**{'a': 1}, **{'b': 2}) }}
{{ dict(a=1, a=2) }}
{{ ! }}
{{ a ? b }}
{{ 'a' if }}
{{ 1 if true else }}
{% if %}{% endif %}
{% if true %}
{% endif %}
{% if true %}{% else %}{% elif true %}{% endif %}
{% for x l %}{% endfor %}
{% for x in l %}
{% endfor %}
{% break %}
{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
{% set %}
{% set x %}
{% macro %}{% endmacro %}
{% macro m %}{% endmacro %}
{% do l %}
{% elif %}
{% unknown %}
{% if f %}{{ 1 | nosuch }}{% endif %}ok
{% if f %}{{ 1 is nosuch }}{% endif %}ok
{% if t %}{{ 1 | nosuch }}{% endif %}
{{ 1 | nosuch if f else 2 }}{{ 2 if t else 1 | nosuch }}
{% if f %}{% for x in l %}{{ 1 | nosuch }}{% endfor %}{% endif %}ok
{% if t %}a{%- endif -%}  b
a  {%- if t -%}  b  {%- endif -%}  c
  {% if t %}  
a
  {% endif %}  
b
{% if t %}

a

{% endif %}

b
x {% if t %}y{% endif %}
z
  {{ i }}  
  {{- i -}}  
a
{%+ if t %}a{% endif +%}
b
	{% set a = 1 %}	
c
  {# c #}
d
  {#- c -#}
d
a {# c #} b {#- d #} e {# f -#} g
{{ 'a' }}
{{ 'b' }}


{{ 'c' -}}
  d
  {%- set a = 1 -%}
  e
<div>
    {% for x in l %}
    <li>{{ x }}</li>
    {% endfor %}
</div>
    {%- for x in l %}
    {{ x }}
    {%- endfor %}
{{ '{{' }} {{ '}}' }} {{ '{%' }} {{ "%}" }} {{ {'a': {'b': 1}}['a']['b'] }} {{ {'a': {}}}}
{{ {'a': 1}.a }} {{ [1, 2][0] }} {{ 'abc'.upper().lower()[0] }} {{ (1, 2)[1] }} {{ [[1, 2], [3]][0][1] }} {{ l.0 }} {{ nest.0.u.n }}
{ {x} } { % x % } {x {{'y'}}} {%if t%}tight{%endif%} {{i}}{{-i}} {{+i}} {{ -i }}
{{ l | length > 2 }} {{ l | length - 1 }} {{ l[l | length - 1] }} {{ (l | last) + 1 }} {{ l | join(',') ~ '!' }}
{{ "quote \" ' " }} {{ 'tab	in' }} {{ "multi
line" }} {{ 'é' }} {{ 'a\'b' }} {{ ['a\'b', "a\"b", 'a\'"b', '\n\t\\', 'é\u00a0\u200b\x7f', '😀'] }}
{{ true == 1 }} {{ True }} {{ TRUE is defined }} {{ none == None }} {{ NONE is defined }} {{ [true, none] }} {{ 1 == true }} {{ 'true' == true }}
{{ [1, 2] == [1, 2] }} {{ [1, 2] < [1, 3] }} {{ (1, 2) < (1, 2, 3) }} {{ {'a': 1} == {'a': 1.0} }} {{ [1] == (1,) }} {{ 'a' < 'B' }} {{ 'é' > 'z' }} {{ [1] < ['a'] }}
{{ {} < {} }}
{{ none < 1 }}
{{ l * -1 }} {{ 'ab' * 0 }} {{ 2 * [1] }} {{ 'a' * 2.5 }}
{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 2 * 3 ** 2 }} {{ 1 + 2 ~ 3 + 4 }} {{ 1 ~ 2 * 3 }} {{ 7 - 2 - 1 }} {{ 2 - -2 }} {{ not 1 == 2 }}
{{ kwargs }}{{ varargs }}{{ caller }}{{ loop }}
{% include 'x' ignore missing %}
{{ x | int | string | length }} {{ (x | int) // 2 }} {{ x // 1 }} {{ x % 1 }} {{ i / 2 }} {{ i // 2 }} {{ 4 / 2 }}
{{ s.split()[0].lower() }} {{ s.strip().split(' ') | last }} {{ 'a,b'.split(',') | map('upper') | join('-') }} {{ (s | trim)[:5] }} {{ s[1:-1] }} {{ s[-100:3] }}
{{ content.split('</think>')[-1].lstrip('\n') if content is defined else '' }}|{{ '<think>a</think>b'.split('</think>')[0].split('<think>')[-1] }}
{{ [1, [2, [3]]] | string }} {{ [[]] | tojson }} {{ [none, true, 1.0, 'x'] | join('|') }} {{ [1, 2] | join(d='-') }} {{ p | join(',', attribute='k') }} {{ p | join(attribute='v') }}
"""

TOWN = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a town in °C.", "parameters": {
    "type": "object", "properties": {"town": {"type": "string", "description": "Name"}, "days": {"type": "integer"},
                                     "unit": {"type": "string", "enum": ["c", "f"]}}, "required": ["town"]}}}
NOTES = {"type": "function", "function": {"name": "search", "description": "Search notes.\nTwo lines.", "parameters": {
    "type": "object", "properties": {
        "query": {"type": "string"}, "limit": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}},
        "opts": {"type": "object", "properties": {"deep": {"type": "boolean"}}}, "any": {"type": ["string", "null"]}},
    "required": ["query", "tags"]}, "strict": True}}
NONE = {"type": "function", "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, ident="abcdef123"):
    return {"type": "function", "id": ident, "function": {"name": name, "arguments": arguments}}


def conversations():
    user = {"role": "user", "content": "What is the weather?"}
    system = {"role": "system", "content": "Be brief."}
    args = {"town": "Köln", "days": 3}
    rich = {"query": "a \"b\" <c> & 'd'\nnew", "limit": 2.5, "tags": ["x", "y z"], "opts": {"deep": True, "n": None}, "any": None}
    result = {"role": "tool", "content": "{\"t\": 14.5}", "tool_call_id": "abcdef123", "name": "get_weather"}

    def assistant(content, *calls, **more):
        out = {"role": "assistant", "content": content, **more}
        if calls:
            out["tool_calls"] = list(calls)
        return out

    tools = [TOWN, NOTES, NONE]
    yield "one-call", dict(messages=[user, assistant("", call("get_weather", args))], tools=tools)
    yield "one-call-null", dict(messages=[user, assistant(None, call("get_weather", args))], tools=tools)
    yield "one-call-result", dict(messages=[system, user, assistant("", call("get_weather", args)), result], tools=tools, add_generation_prompt=True)
    yield "text-and-call", dict(messages=[user, assistant("Let me see.", call("search", rich)), result], tools=[NOTES], add_generation_prompt=True)
    yield "two-calls", dict(messages=[user, assistant("", call("get_weather", args), call("search", rich, "xyz456789")), result,
                                      dict(result, content="two", tool_call_id="xyz456789")], tools=tools, add_generation_prompt=True)
    yield "no-arguments", dict(messages=[user, assistant("", call("ping", {})), dict(result, content="pong")], tools=tools, add_generation_prompt=True)
    yield "string-arguments", dict(messages=[user, assistant("", call("get_weather", json.dumps(args))), result], tools=tools, add_generation_prompt=True)
    yield "thought-and-call", dict(messages=[user, assistant("", call("get_weather", args), reasoning_content="I must look."), result], tools=tools,
                                   add_generation_prompt=True, enable_thinking=True, thinking=True)
    yield "thinking-field", dict(messages=[user, assistant("", call("get_weather", args), thinking="I must look."), result], tools=tools, add_generation_prompt=True)
    yield "final-after-tools", dict(messages=[system, user, assistant("", call("get_weather", args)), result, assistant("It is 14.5.")], tools=tools)
    yield "final-with-thought", dict(messages=[user, assistant("", call("get_weather", args)), result, assistant("14.5.", reasoning_content="Easy.")], tools=tools)
    yield "next-turn", dict(messages=[system, user, assistant("", call("get_weather", args)), result, assistant("14.5."), {"role": "user", "content": "And?"}],
                            tools=tools, add_generation_prompt=True, enable_thinking=False)
    yield "id-less", dict(messages=[user, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "ping", "arguments": {}}}]}], tools=tools)
    yield "flat-call", dict(messages=[user, {"role": "assistant", "content": "", "tool_calls": [{"name": "ping", "arguments": {"a": 1}, "id": "abcdef123"}]}], tools=tools)
    yield "tool-parts", dict(messages=[user, assistant("", call("get_weather", args)), dict(result, content=[{"type": "text", "text": "part"}])], tools=tools)
    yield "parts", dict(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], add_generation_prompt=True)
    yield "image", dict(messages=[{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "b"}]}], add_generation_prompt=True, add_vision_id=True)
    yield "system-only", dict(messages=[system])
    yield "system-late", dict(messages=[user, system, user], add_generation_prompt=True)
    yield "two-users", dict(messages=[user, user], add_generation_prompt=True)
    yield "developer", dict(messages=[{"role": "developer", "content": "Dev."}, user], add_generation_prompt=True, tools=tools)
    yield "odd-role", dict(messages=[{"role": "critic", "content": "Hm."}], add_generation_prompt=True)
    yield "empty", dict(messages=[], add_generation_prompt=True)
    yield "no-content", dict(messages=[user, {"role": "assistant"}, user], add_generation_prompt=True)
    yield "no-call-list", dict(messages=[user, {"role": "assistant", "content": "x", "tool_calls": []}, user], add_generation_prompt=True)
    yield "null-calls", dict(messages=[user, {"role": "assistant", "content": "x", "tool_calls": None}, user], add_generation_prompt=True)
    yield "inline-thought", dict(messages=[user, assistant("<think>\nhm\n</think>\n\nyes"), user, assistant("<think>\nso\n</think>\n\nno")])
    yield "effort", dict(messages=[user], add_generation_prompt=True, reasoning_effort="high", thinking=True, enable_thinking=True)
    yield "effort-max", dict(messages=[system, user], add_generation_prompt=True, reasoning_effort="max", thinking=True)
    yield "keep-thoughts", dict(messages=[user, assistant("a", reasoning_content="r1"), user, assistant("b", reasoning_content="r2"), user],
                                add_generation_prompt=True, clear_thinking=False, drop_thinking=False, preserve_thinking=True, thinking=True)
    yield "budget", dict(messages=[user], add_generation_prompt=True, thinking_budget=512)
    yield "budget-zero", dict(messages=[user], add_generation_prompt=True, thinking_budget=0)
    yield "documents", dict(messages=[user], add_generation_prompt=True, documents=[{"doc_id": 1, "text": "Doc.", "title": "T"}],
                            controls={"citations": True, "length": "short"})
    yield "format", dict(messages=[system, user], add_generation_prompt=True, response_format={"type": "json_object"}, tools=tools)
    yield "builtin", dict(messages=[user], add_generation_prompt=True, builtin_tools=["browser", "python"], model_identity="I am.")
    yield "json-tools", dict(messages=[user], add_generation_prompt=True, tools=tools, use_json_tooldef=True)
    yield "prefix", dict(messages=[user, assistant("Sure", prefix=True)], thinking=True)
    yield "long-loop", dict(messages=[system] + [m for k in range(12) for m in (
        {"role": "user", "content": f"q{k}"}, assistant(f"a{k}", reasoning_content=f"r{k}"))][:-1], add_generation_prompt=False)


def main():
    sys.stdout.reconfigure(encoding="utf-8")

    def emit(**line):
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))

    def refused(source):
        """What this engine refuses by name, or whose text depends on the process."""
        return any(word in source for word in ("|pprint", "{{ l | map('string') | first }}|{{ l | reverse }}", "\\N{", "ignore missing"))

    emit(define="values", context=CONTEXT)
    sources = list(expressions())
    sources += ["{{ %s }}" % e for line in STRING_METHODS.strip().splitlines() for e in split_cells(line)]
    sources += split_more()
    seen = set()
    for source in sources:
        if source in seen:
            continue
        seen.add(source)
        result = outcome(source, CONTEXT)
        if " at 0x" in str(result).lower() or ("map('string')|" in source and "wordcount" in source) or refused(source):
            continue
        emit(template=source, use="values", **result)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/templates")
    cases = dict(conversations())
    for name, context in cases.items():
        emit(define=name, context={"tools": None, **context})
    for path in sorted(folder.glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        for name, context in cases.items():
            full = {"tools": None, **context, "bos_token": "<s>", "eos_token": "</s>"}
            emit(file=path.name, use=name, **outcome(source, full))


def split_cells(line):
    """Cells of a line of STRING_METHODS: separated by | outside quotes."""
    cells, quote, cell = [], "", ""
    for ch in line:
        if ch == "|" and not quote:
            cells.append(cell)
            cell = ""
            continue
        if ch == quote:
            quote = ""
        elif ch in "'\"" and not quote:
            quote = ch
        cell += ch
    return [c for c in cells + [cell] if c.strip()]


def split_more():
    """Every line of MORE alone and, as white space control needs several, each pair and run of four."""
    lines = MORE.strip("\n").split("\n")
    out = list(lines)
    out += ["\n".join(lines[k:k + 2]) for k in range(len(lines) - 1)]
    out += ["\n".join(lines[k:k + 4]) + "\n" for k in range(0, len(lines) - 3, 2)]
    return out


if __name__ == "__main__":
    main()
