#!/bin/sh
# Rebuilds cost.co with the hipcc at hand, beside this file.
set -e
cd "$(dirname "$0")"
hipcc --offload-arch=gfx906 -O3 -std=c++17 --genco -o cost.co cost.hip
