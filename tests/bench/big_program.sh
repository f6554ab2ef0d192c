#!/bin/sh
# big_program.sh - a C++ program with more than 150 MB of DWARF in 200 units,
# and heap profiles of it with about 700, 2,000, 6,500 and 20,000 addresses.
#
# Made once, in HEAPWIRE_BENCH_DIR (/tmp/heapwire-bench), in some minutes: big,
# and FIRST.heap per number of addresses.  Few units are compiled; the others
# are their assembly with the namespace renamed, which costs a fifth and gives
# functions, types and names of their own all the same.
set -eu

here=$(cd "$(dirname "$0")/big" && pwd)
dir=${HEAPWIRE_BENCH_DIR:-/tmp/heapwire-bench}
copies=${COPIES:-25} # of each of the eight units that are compiled
jobs=${JOBS:-$(nproc)}
# What the binary is made of: it is made anew when that changes.
stamp=$(cat "$here"/* | cksum)-$copies

if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$dir/parts" "$dir/stamp" "$dir/big"
    mkdir -p "$dir/parts"
    flags="-std=c++17 -g -O2 -fno-optimize-sibling-calls -I$here"
    # kind, operators
    printf '%s\n' "0 1" "1 2" "2 1" "3 1" "4 3" "5 1" "6 1" "7 2" |
        xargs -P "$jobs" -L 1 nice sh -c 'g++ '"$flags"' -DUNIT=unit_00$0 \
            -DKIND=$0 -DOPS=$1 -S -o "'"$dir"'/parts/$0.s" "'"$here"'/unit.cc"'
    # The units of a kind do not lie together.
    seq 0 $((copies * 8 - 1)) |
        xargs -P "$jobs" -L 1 nice sh -c 'kind=$(($0 % 8))
            sed "s/unit_00$kind/$(printf unit_%03d "$0")/g" \
                "'"$dir"'/parts/$kind.s" |
            g++ -c -x assembler -o "'"$dir"'/parts/$(printf %03d "$0").o" -'
    # shellcheck disable=SC2086
    nice g++ $flags -o "$dir/big" "$here/main.cc" "$dir"/parts/*.o \
        -ljemalloc -pthread
    rm -r "$dir/parts"
    rm -f "$dir"/*.heap
    echo "$stamp" >"$dir/stamp"
fi

profile() { # name, operators, sites, stacks, depth
    [ ! -f "$dir/$1.heap" ] || return 0
    (cd "$dir" && MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:$1 \
        setarch -R ./big "$2" "$3" "$4" "$5")
    mv "$dir/$1".*.heap "$dir/$1.heap"
}
profile 700 130 1000 46 3
profile 2000 250 1000 130 4
profile 6500 200 3 720 6
profile 20000 300 1000 3100 6

readelf -SW "$dir/big" | tr -d '[' | awk '
    $2 ~ /^\.debug_/ || $3 ~ /^\.debug_/ {
        for (i = 1; i <= NF; i++)
            if ($i ~ /^\.debug_/) {
                size = strtonum("0x" $(i + 4))
                printf "  %-18s %11d\n", $i, size
                sum += size
            }
    }
    END { printf "  %-18s %11d\n", "all DWARF", sum }'
for heap in 700 2000 6500 20000; do
    printf '  %s.heap: %d stacks, %d addresses, %d bytes\n' "$heap" \
        "$(grep -c '^@' "$dir/$heap.heap")" \
        "$(grep '^@' "$dir/$heap.heap" | tr ' ' '\n' | grep 0x | sort -u | wc -l)" \
        "$(wc -c <"$dir/$heap.heap")"
done
