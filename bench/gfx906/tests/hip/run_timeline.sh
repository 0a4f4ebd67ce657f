#!/bin/sh
# Runs timeline.hip.cpp and checks its trace, on the host's clock and on the modelled one.
#   run_timeline.sh SOURCE GFX906-SIM PYTHON
set -eu
source=$1 sim=$2 python=$3
[ -x "${GFX906_HIPCC:-}" ] || { echo "SKIP: no hipcc on this system"; exit 0; }
[ -x "$python" ] || { echo "SKIP: no python3"; exit 0; }
out=$GFX906_WORK/timeline
"$GFX906_HIPCC" --offload-arch=gfx906 -std=c++17 -O2 -w "$source" -o "$out"
"$sim" run --cards 2 --trace "$out.host.json" -- "$out"
"$python" "$(dirname "$source")/check_timeline.py" "$out.host.json" host
"$sim" run --cards 2 --trace "$out.model.json" --profile "$out.profile.json" --no-host-time -- "$out"
"$python" "$(dirname "$source")/check_timeline.py" "$out.model.json" modelled
"$sim" run --cards 2 --trace /dev/full -- "$out" 2>&1 | grep -q "cannot write the trace file /dev/full" ||
  { echo "a full disk is not reported"; exit 1; }
