#!/bin/sh
# Runs the chat page's browser tests. Usage: run_browser_tests.sh BUILD_DIR SCRIPT [arguments]
# Prints SKIP and leaves with 77 where Chromium or the Python packages cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
script=$2
shift 2
if ! command -v chromedriver >/dev/null 2>&1; then
  echo "SKIP: chromedriver is missing (Debian packages chromium and chromium-driver)"
  exit 77
fi
python=python3
if ! python3 -c 'import selenium' 2>/dev/null; then
  venv=$build/venv-ui
  python=$venv/bin/python
  if ! [ -e "$venv/ready" ] || [ "$here/requirements.txt" -nt "$venv/ready" ]; then
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check \
        -r "$here/requirements.txt" && touch "$venv/ready"; }; then
      echo "SKIP: cannot install the packages of $here/requirements.txt"
      exit 77
    fi
  fi
fi
exec env VELOCE_BINARY_DIR="$build" PYTHONDONTWRITEBYTECODE=1 "$python" "$here/$script" "$@"
