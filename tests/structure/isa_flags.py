#!/usr/bin/env python3
"""Holds the choice of a CPU level to the flags its units are compiled with: every instruction set that the compiler may
use there, beyond plain x86-64, must be one that include/veloce/cpu/isa.hpp asks the processor for.

Usage: isa_flags.py COMPILER ISA_HPP -- FLAG..."""
import pathlib, re, subprocess, sys

# Every processor with AVX2 has these.
IMPLIED = {"sse3", "ssse3", "sse4_1", "sse4_2", "avx", "xsave", "crc32"}


def macros(compiler, flags):
    text = subprocess.run([compiler, "-x", "c++", *flags, "-dM", "-E", "/dev/null"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^#define (__\w+__) 1$", text, re.M))


def main():
    split = sys.argv.index("--")
    compiler, header = sys.argv[1:split]
    flags = [flag for flag in sys.argv[split + 1:] if flag.startswith("-m")]
    if not flags: sys.exit("no -m flags were given")
    features = {name.strip("_").lower() for name in macros(compiler, flags) - macros(compiler, [])}
    asked = set(re.findall(r"has\.(\w+) = ", pathlib.Path(header).read_text()))
    missing = sorted(name for name in features - IMPLIED - asked if not name.startswith("sse") and not name.endswith("_math"))
    if missing: sys.exit(f"compiled with {' '.join(flags)}, but the processor is not asked for: {', '.join(missing)}")
    print(f"{len(features)} instruction sets, all asked for")


main()
