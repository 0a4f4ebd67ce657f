#!/bin/sh
# Runs the HTTP tests with the official clients. Usage: run_http_tests.sh BUILD_DIR [pytest arguments]
# Exit status 77: the clients could not be installed (no network), nothing was tested.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
venv=$build/venv-serve
if ! [ -e "$venv/ready" ] || [ "$here/requirements.txt" -nt "$venv/ready" ]; then
  if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check \
      -r "$here/requirements.txt" && touch "$venv/ready"; }; then
    echo "SKIP: cannot install the clients of $here/requirements.txt"
    exit 77
  fi
fi
VELOCE_BINARY_DIR=$build exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$here" "$@"
