#!/usr/bin/env python3
"""Objects compiled for one instruction set must not define functions that other objects could be linked to.

An inline function or template outside the level's own namespace becomes a weak symbol; the linker keeps one copy for
the whole program, which may be the AVX-512 one, called on a machine without it. Usage: NM ARCHIVE
Looks at the members cpu_LEVEL.cpp.o.
"""
import re
import subprocess
import sys


def main():
    nm, archive = sys.argv[1:]
    out = subprocess.run([nm, "-C", "--defined-only", archive], capture_output=True, text=True, check=True).stdout
    level, own, leaked = None, {}, []
    for line in out.splitlines():
        member = re.match(r"^(\S+\.o):$", line)
        if member:
            found = re.match(r"cpu_(avx\w+)\.cpp\.o", member.group(1))
            level = found.group(1) if found else None
            continue
        # T: global functions, W: weak ones (inline functions, templates), i: chosen at load time. Data is the same at
        # every level and may be shared.
        symbol = re.match(r"^[0-9a-f]+ ([TWi]) (.*)$", line)
        if level is None or not symbol:
            continue
        name = symbol.group(2)
        if f"veloce::cpu::{level}::" in name or name == f"veloce::cpu::{level}_kernels()":
            own[level] = own.get(level, 0) + 1
        else:
            leaked.append(f"{level}: {name}")
    for name in leaked:
        print(f"{name} could be linked into code for lesser machines")
    print(f"own functions: {own}; leaked: {len(leaked)}")
    if len(own) < 2:
        sys.exit("the archive lacks a level: the test looks at the wrong file")
    sys.exit(1 if leaked else 0)


main()
