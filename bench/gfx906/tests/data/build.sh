#!/bin/sh
# Rebuilds the code objects of the tests with the hipcc at hand: build.sh [SUFFIX], beside this file.
set -e
cd "$(dirname "$0")"
hipcc --offload-arch=gfx906 -O3 -gline-tables-only -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. --genco -o "kernels${1:-}.co" kernels.hip
