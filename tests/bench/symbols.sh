#!/bin/sh
# symbols.sh - what names cost: "jeprof --dot" with binutils' addr2line,
# "heapwire-prof --dot" with nothing but the page cache, and with a symbol
# index, side by side; memory; growth; how near the floor is.
#
# On the program of big_program.sh, or on one of yours, which has to be the one
# in the profiles:
#
#     symbols.sh [BINARY PROFILE...]
#
# ROUNDS (5) is how often each is run; PARTS (side memory growth) what to show.
set -eu
cd "$(dirname "$0")/../.."

dir=${HEAPWIRE_BENCH_DIR:-/tmp/heapwire-bench}
if [ $# = 0 ]; then
    sh tests/bench/big_program.sh
    set -- "$dir/big" "$dir/700.heap" "$dir/2000.heap" "$dir/6500.heap" \
        "$dir/20000.heap"
fi
exec python3 tests/bench/symbols.py "${BUILD:-build/release}" "$@"
