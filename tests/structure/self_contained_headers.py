#!/usr/bin/env python3
"""Compiles every public header alone (syntax only). Usage: COMPILER INCLUDE_DIR CACHE_DIR

A header that passed is not compiled again until it, or something that it includes, changes: what a header depends on is
kept with its result in CACHE_DIR, so a run after a small change takes seconds.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-ffp-contract=off", "-x", "c++"]
# The levels' own headers need their instruction sets; they are included through cpu/simd.hpp.
LEVEL_FLAGS = {
    "veloce/cpu/simd_avx2.hpp": ["-mavx2", "-mfma", "-mf16c"],
    "veloce/cpu/simd_avx512.hpp": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni", "-mavx512vbmi",
                                   "-Wno-maybe-uninitialized", "-Wno-uninitialized"],
}


def digest(paths):
    h = hashlib.sha256()
    for path in sorted(paths):
        h.update(path.encode())
        h.update(pathlib.Path(path).read_bytes())
    return h.hexdigest()


def compile_alone(compiler, include, header):
    """Returns (error text or None, files it read under include)."""
    source = f'#include "{header}"\n#include "{header}"\n'
    run = subprocess.run([compiler, *FLAGS, *LEVEL_FLAGS.get(header, []), "-MD", "-MF", "/dev/stdout", "-I", str(include), "-"], input=source,
                         capture_output=True, text=True)
    words = run.stdout.replace("\\\n", " ").split()
    files = sorted({w for w in words[1:] if w.startswith(str(include))})
    return (None if run.returncode == 0 else run.stderr), files


def main():
    compiler, include, cache_dir = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    cache_dir.mkdir(parents=True, exist_ok=True)
    cache_path = cache_dir / "self_contained_headers.json"
    key = [compiler, subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout, FLAGS]
    try:
        cache = json.loads(cache_path.read_text())
        if cache.get("key") != key:
            cache = {}
    except (OSError, ValueError):
        cache = {}
    known, fresh, todo = cache.get("headers", {}), {}, []
    # Device-only headers say so by an #error of their own; the GPU builds compile them.
    device_only = re.compile(r"^ *# *error .*needs hipcc or nvcc", re.M)
    headers = sorted(str(p.relative_to(include)) for p in include.rglob("*.hpp") if not device_only.search(p.read_text()))
    for header in headers:
        entry = known.get(header)
        if entry and all(os.path.exists(f) for f in entry["files"]) and digest(entry["files"]) == entry["digest"]:
            fresh[header] = entry
        else:
            todo.append(header)
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for header, (error, files) in zip(todo, pool.map(lambda h: compile_alone(compiler, include, h), todo)):
            if error is None:
                fresh[header] = {"files": files, "digest": digest(files)}
            else:
                wrong.append(header)
                print(f"{header} does not compile alone:\n{error[:2000]}")
    cache_path.write_text(json.dumps({"key": key, "headers": fresh}))
    print(f"{len(headers)} headers, {len(todo)} compiled now, {len(wrong)} wrong")
    if not headers:
        sys.exit("no headers found")
    sys.exit(1 if wrong else 0)


main()
