#!/usr/bin/env python3
"""Writes jinja_case_tables.hpp: how Python's str changes case, and its decimal digits.

Usage: generate_case_tables.py > jinja_case_tables.hpp   (Python 3.11: Unicode 14)
"""
import sys
import unicodedata


def runs(change):
    """Runs of code points that move by one distance: [first, last, distance, stride]."""
    out = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        mapped = change(chr(c))
        if len(mapped) != 1 or ord(mapped) == c:
            continue
        distance = ord(mapped) - c
        last = out[-1] if out else None
        step = c - last[1] if last else 0
        if last and last[2] == distance and step in (1, 2) and last[3] in (0, step):
            last[1], last[3] = c, step
        else:
            out.append([c, c, distance, 0])
    return out


def rows(name, kind, items, width=96):
    print(f"inline constexpr {kind} {name}[] = {{")
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            print(line)
            line = "   "
        line += " " + item + ","
    print(line)
    print("};\n")


def case_rows(name, change):
    rows(name, "CaseRun", [f"{{{a:#x}, {b:#x}, {d}, {max(s, 1)}}}" for a, b, d, s in runs(change)])


def special_rows(name, change):
    items = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        mapped = change(chr(c))
        if len(mapped) > 1:
            text = "".join(f"\\u{ord(x):04x}" for x in mapped)
            items.append(f'{{{c:#x}, U"{text}"}}')
    rows(name, "CaseSpecial", items)


def ranges(test):
    out = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000 or not test(chr(c)):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


print("// Case mappings and digits of Unicode %s as Python's str uses them. Generated: generate_case_tables.py."
      % unicodedata.unidata_version)
print("#pragma once\n\n#include <cstdint>\n\nnamespace veloce::text::jinja::detail {\n")
print("// Code points first, first + stride, ..., last map to themselves plus distance.")
print("struct CaseRun {\n  std::uint32_t first, last;\n  std::int32_t distance;\n  std::uint32_t stride;\n};")
print("// A code point that maps to several.")
print("struct CaseSpecial {\n  std::uint32_t from;\n  const char32_t* to;\n};\n")
case_rows("kUpperRuns", str.upper)
case_rows("kLowerRuns", str.lower)
case_rows("kTitleRuns", str.title)
special_rows("kUpperSpecial", str.upper)
special_rows("kLowerSpecial", str.lower)
special_rows("kTitleSpecial", str.title)
print("// First code points of runs of ten decimal digits (category Nd).")
zeros = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and unicodedata.decimal(chr(c), -1) == 0]
rows("kDigitZeros", "std::uint32_t", [f"{c:#x}" for c in zeros])
print("// Digits beyond category Nd, for str.isdigit.")
extra = ranges(lambda ch: ch.isdigit() and not ch.isdecimal())
rows("kOtherDigits", "std::uint32_t", [f"{a:#x}, {b:#x}" for a, b in extra])
print("}  // namespace veloce::text::jinja::detail")
