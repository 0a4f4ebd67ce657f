#!/usr/bin/env python3
"""Wrong uses must fail to compile, with the sentence that the file's first line expects. Usage: COMPILER INCLUDE_DIR"""
import pathlib
import re
import subprocess
import sys


def main():
    compiler, include = sys.argv[1:]
    wrong = checked = 0
    for path in sorted((pathlib.Path(__file__).parent / "must_not_compile").glob("*.cpp")):
        expected = re.match(r"// expect: (.*)", path.read_text()).group(1)
        run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", "-I", include, str(path)],
                             capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
        checked += 1
        errors = len(re.findall(r"error:", run.stderr))
        if path.stem == "control":
            fine = run.returncode == 0
        else:
            # A sentence and not a page of template text: it stands among the first few errors.
            fine = run.returncode != 0 and expected in run.stderr and errors <= 12
        print(f"{path.stem}: {'ok' if fine else 'WRONG'} ({errors} errors)")
        if not fine:
            wrong += 1
            print(run.stderr[:3000])
    sys.exit(1 if wrong or checked < 4 else 0)


main()
