#!/bin/sh
# The command line on wrong uses: run_cli.sh GFX906-SIM DATA-FOLDER. Each must end with status 2 and one line that names
# what is wrong, and leave nothing behind.
set -eu
sim=$1 data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# wrong TEXT ARG...: the message holds the text.
wrong() {
  text=$1 status=0
  shift
  "$sim" "$@" > out.txt 2> err.txt || status=$?
  [ $status -eq 2 ] || { echo "gfx906-sim $*: status $status instead of 2"; cat err.txt; exit 1; }
  [ "$(wc -l < err.txt)" -eq 1 ] && grep -qF -- "$text" err.txt ||
    { echo "gfx906-sim $*: instead of a line with '$text':"; cat err.txt; exit 1; }
}
head -c 3000 "$data/kernels.co" > cut.co
LC_ALL=C sed 's/[.]kd/.no/g' "$data/kernels.co" > none.co  # functions, no kernels
mkdir folder
mkfifo pipe
: > nothing
wrong "bogus" bogus
wrong "FILE" kernels
wrong "FILE" disasm
wrong "folder is a folder" kernels folder
wrong "folder is a folder" disasm folder
wrong "cannot open missing" kernels missing
wrong "nothing holds no code" kernels nothing
for special in /dev/null /dev/zero pipe; do
  wrong "$special is no regular file" kernels $special
  wrong "$special is no regular file" disasm $special
done
wrong "cut.co: " kernels cut.co
wrong "no kernel 'nobody'" disasm "$data/kernels.co" nobody
wrong "none.co holds no kernel" disasm none.co
wrong "no kernel 'axpy'" disasm none.co axpy
wrong "run needs a program" run
wrong "run needs a program" run --check --
wrong "unknown option '--bogus'" run --bogus -- true
wrong "not '-1'" run --cards -1 -- true
wrong "not '99999999999'" run --cards 99999999999 -- true
wrong "not '2x'" run --cards 2x -- true
wrong "--cards needs a value" run --cards
wrong "--sample-only needs --profile" run --sample-only -- true
wrong "--no-host-time needs --profile" run --no-host-time -- true
wrong "exclude each other" run --check --profile p.json --sample-only -- true
wrong "--root missing is no folder" run --root missing -- true
[ ! -e missing ] || { echo "--root made a folder"; exit 1; }
wrong "--cards must be a number from 0 to 64, not '65'" run --cards=65 -- true
for option in --profile --trace --check; do
  wrong "$option needs a value" run $option= -- true
  wrong "cannot write missing/out.json: No such file" run $option=missing/out.json -- true
  wrong "cannot write folder: Is a directory" run $option=folder -- true
done
for option in --profile --trace --root; do
  wrong "$option needs a value" run $option -- true
  wrong "$option needs a value" run $option --check -- true
done
# Results of an earlier run are not left for this one's.
for option in --profile --trace --check; do
  echo old > old.json
  "$sim" run $option=old.json -- true
  [ ! -e old.json ] || { echo "$option left an old file"; exit 1; }
done
for help in --help -h "run --help" "kernels -h"; do "$sim" $help | grep -q "usage: gfx906-sim"; done
"$sim" --version | grep -q "^gfx906-sim [0-9]"
status=0
"$sim" kernels "$data/kernels.co" > /dev/full 2> err.txt || status=$?
[ $status -eq 2 ] && grep -q "cannot write the output" err.txt
"$sim" run -- true
status=0
"$sim" run -- ./missing 2> err.txt || status=$?
[ $status -eq 127 ] && grep -q "cannot run ./missing" err.txt
