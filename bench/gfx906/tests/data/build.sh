#!/bin/sh
# Rebuilds the code objects of the tests with the hipcc at hand: build.sh [SUFFIX], beside this file.
set -e
cd "$(dirname "$0")"
flags="--offload-arch=gfx906 -gline-tables-only -ffile-prefix-map=$PWD=. -fdebug-compilation-dir=. --genco"
hipcc $flags -O3 -o "kernels${1:-}.co" kernels.hip
hipcc $flags -O2 -o "faults${1:-}.co" faults.hip
