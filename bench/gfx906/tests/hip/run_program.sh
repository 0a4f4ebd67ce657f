#!/bin/sh
# Compiles one HIP test program and runs it on two virtual cards.
#   run_program.sh here|root SOURCE.hip.cpp GFX906-SIM     (more options of run: $GFX906_RUN_FLAGS)
# "here" uses $GFX906_HIPCC, "root" the hipcc inside $GFX906_HIP_ROOT. The program is built again only when a
# source is newer.
set -eu
where=$1 source=$2 sim=$3
name=$(basename "$source" .hip.cpp)
folder=$(dirname "$source")
flags="--offload-arch=gfx906 -std=c++17 -O2 -w"
skip() { echo "SKIP: $1"; exit 0; }
stale() { [ ! -e "$1" ] || [ "$source" -nt "$1" ] || [ "$folder/check.hpp" -nt "$1" ]; }

if [ "$where" = here ]; then
  [ -x "${GFX906_HIPCC:-}" ] || skip "no hipcc on this system"
  out=$GFX906_WORK/$name
  if stale "$out"; then "$GFX906_HIPCC" $flags "$source" -o "$out.new" && mv "$out.new" "$out"; fi
  exec "$sim" run ${GFX906_RUN_FLAGS:-} --cards 2 -- "$out"
fi

root=${GFX906_HIP_ROOT:-}
[ -n "$root" ] && [ -x "$root/usr/bin/hipcc" ] || skip "no second HIP toolchain (GFX906_HIP_ROOT)"
[ "$(id -u)" = 0 ] || skip "entering $root needs root"
inside=/tmp/gfx906-sim-tests
mkdir -p "$root$inside"
if stale "$root$inside/$name"; then
  cp "$source" "$folder"/*.hpp "$root$inside/"
  chroot "$root" sh -c "cd $inside && hipcc $flags $(basename "$source") -o $name.new && mv $name.new $name"
fi
exec "$sim" run ${GFX906_RUN_FLAGS:-} --cards 2 --root "$root" -- "$inside/$name"
