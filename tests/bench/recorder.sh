#!/bin/sh
# recorder.sh - what the recorder costs a malloc and free.
#
# sh tests/bench/recorder.sh [ROUNDS]
#
# Nanoseconds a pair, the least of ROUNDS (5) alternating runs of each: jemalloc
# alone; the recorder preloaded but without a segment; with one, and switched
# off; on, at a mean of 512 KB; jemalloc's own profiling at the same; and both
# with unwind tables, as heapwired gives them.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build/release}
jemalloc=libjemalloc.so.2
recorder=$PWD/$BUILD/lib/libheapwire-recorder.so
give=$PWD/$BUILD/lib/libgive_tables.so
sizes="64 512 8192"
kinds="alone inert off on tables prof prof_tables"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# recorded MEAN DEPTH HELD
recorded() {
    echo wait | "$BUILD/bin/recorder_driver" "$recorder:${4:+$4:}$jemalloc" "$1" 0 65536 \
        3 "$BUILD/bin/malloc_cost" "$2" "$3" $sizes 3>"$work/out" >"$work/driver"
    cat "$work/out"
}

run() {
    case $1 in
    alone) LD_PRELOAD=$jemalloc "$BUILD/bin/malloc_cost" "$2" "$3" $sizes ;;
    inert) LD_PRELOAD=$recorder:$jemalloc "$BUILD/bin/malloc_cost" "$2" "$3" $sizes ;;
    off) recorded off "$2" "$3" ;;
    on) recorded 524288 "$2" "$3" ;;
    tables) recorded 524288 "$2" "$3" "$give" ;;
    prof_tables) LD_PRELOAD=$jemalloc:$give \
        MALLOC_CONF=prof:true,lg_prof_sample:19 \
        "$BUILD/bin/malloc_cost" "$2" "$3" $sizes ;;
    prof) LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:19 \
        "$BUILD/bin/malloc_cost" "$2" "$3" $sizes ;;
    esac
}

for load in "5 64" "30 64" "60 64" "5 100000"; do
    for round in $(seq "${1:-5}"); do
        for kind in $kinds; do
            run $kind $load >>"$work/$load.$kind"
        done
    done
    echo "depth and held blocks $load, bytes: $sizes"
    for kind in $kinds; do
        awk -v kind=$kind '
            { for (i = 1; i <= NF; i++) if (NR == 1 || $i < m[i]) m[i] = $i }
            END { printf "    %-11s", kind
                  for (i = 1; i in m; i++) printf " %7.1f", m[i]; print "" }
        ' "$work/$load.$kind"
    done
done
