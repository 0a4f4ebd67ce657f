#!/bin/sh
# Runs faults.hip.cpp under the checker: run_faults.sh SOURCE GFX906-SIM. Every fault must be reported at its marked
# line, nothing else, and the status must say so.
set -eu
source=$1 sim=$2
[ -x "${GFX906_HIPCC:-}" ] || { echo "SKIP: no hipcc on this system"; exit 0; }
out=$GFX906_WORK/faults
"$GFX906_HIPCC" --offload-arch=gfx906 -std=c++17 -O2 -w -gline-tables-only "$source" -o "$out"
status=0
"$sim" run --check="$out.json" -- "$out" > "$out.log" 2>&1 || status=$?
cat "$out.log"
[ $status -eq 86 ] || { echo "exit status $status instead of 86"; exit 1; }
grep -q "ran to its end" "$out.log" || { echo "the program did not run on"; exit 1; }
# expect MARK KIND: a report of the kind at the marked line.
expect() {
  line=$(grep -n "// FAULT $1\$" "$source" | cut -d: -f1)
  grep -q "\"kind\": \"$2\".*\"source\": \"[^\"]*faults.hip.cpp:$line\"" "$out.json" ||
    { echo "no \"$2\" at line $line ($1)"; exit 1; }
}
expect just_past "out-of-bounds access"
expect far_past "out-of-bounds access"
expect before_start "out-of-bounds access"
expect freed "use after free"
expect freed_before_next "use after free"
expect unwritten "read of memory never written"
expect in_inlined "out-of-bounds access"
line=$(grep -n "// CALLER in_inlined\$" "$source" | cut -d: -f1)
grep -q "\"inlined_at\": \[\"[^\"]*faults.hip.cpp:$line\"\]" "$out.json" ||
  { echo "the caller of the inlined function, line $line, is not named"; exit 1; }
[ "$(grep -c '"kind"' "$out.json")" -eq 7 ] || { echo "not seven reports"; exit 1; }
grep -q "0 bytes past the end of an allocation of 4000 bytes" "$out.log"
# The same when the program leaves by quick_exit, and when the file cannot hold the report.
status=0
"$sim" run --check=/dev/full -- "$out" quick > "$out.log" 2>&1 || status=$?
[ $status -eq 86 ] || { echo "exit status $status instead of 86 after quick_exit"; exit 1; }
grep -q "7 faults" "$out.log" || { echo "no summary after quick_exit"; exit 1; }
grep -q "cannot write /dev/full" "$out.log" || { echo "a full disk is not reported"; exit 1; }
# Settings that are none are named, and the program runs as without them.
for setting in GFX906_SIM_MEMORY_MB=lots GFX906_SIM_MEMORY_MB=-5 GFX906_SIM_MEMORY_MB=1.5 GFX906_SIM_ALIGNMENT=none; do
  env $setting "$sim" run --check -- "$out" > "$out.log" 2>&1 || true
  grep -q "${setting%=*}.*${setting#*=}" "$out.log" || { echo "$setting is not reported"; exit 1; }
  grep -q "7 faults" "$out.log" || { echo "the program did not run with $setting"; exit 1; }
done
# A program for another card or other settings of this one is told apart from a broken one.
for target in gfx900 gfx906:xnack+ gfx906:sramecc-; do
  "$GFX906_HIPCC" --offload-arch=$target -std=c++17 -O2 -w "$source" -o "$out.other"
  "$sim" run -- "$out.other" > "$out.log" 2>&1 || true
  grep -q "not built for gfx906:sramecc+:xnack-" "$out.log" || { echo "code for $target is not told"; exit 1; }
done
