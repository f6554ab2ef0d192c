#!/bin/sh
# jeprof.sh - our reports against jeprof's, on profiles of real programs.
#
# For each program a list of reports (forms, options, differences), thrice:
#   graph    ours from jeprof's own names (jeprof_oracle)       must be equal
#   names    heapwire-prof --allocator-frames against jeprof, which gets the
#            symbols that we use (jeprof_tools.py)              must be equal
#   as-is    heapwire-prof --allocator-frames against jeprof as it is: counted,
#            for there jeprof lacks symbols (stripped libraries, no sizes)
# jeprof_compare.py says what "equal" leaves open.
#
# Usage: jeprof.sh [CASE...]; BUILD is the build directory; KEEP=1 keeps the
# files; VERBOSE=1 prints the differences of as-is.
set -eu
. tests/integration/lib/wait.inc

top=$(pwd)
build=${BUILD:-build/release}
case $build in /*) ;; *) build=$top/$build ;; esac
here=$top/tests/integration/programs
prof=$build/bin/heapwire-prof
oracle=$build/bin/jeprof_oracle
dir=$(mktemp -d)
redis=
other=
failures=
all="--nodecount=100000 --nodefraction=0 --edgefraction=0 --maxdegree=100000"

cleanup() {
    [ -z "$redis$other" ] || kill -9 $redis $other 2>/dev/null || :
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for file in "$prof" "$oracle" /usr/bin/jeprof; do
    [ -x "$file" ] || { echo "jeprof.sh: $file is missing" >&2; exit 1; }
done

# A jeprof that makes many reports at once, the same ones each time.
sed -e 's/^  if (!defined(\$main::opt_thread)) {$/  HwRuns($symbols, $libs);\n&/' \
    -e 's/sort { \$edge{\$b} <=> \$edge{\$a} }/sort { $edge{$b} <=> $edge{$a} || $a cmp $b }/' \
    /usr/bin/jeprof | cat - "$here/jeprof_runs.pl" >"$dir/jeprof"
mkdir "$dir/tools"
for tool in nm addr2line; do
    ln -s "$here/jeprof_tools.py" "$dir/tools/$tool"
done
tools="objdump:/usr/bin/objdump,c++filt:/usr/bin/c++filt"
our_tools="nm:$dir/tools/nm,addr2line:$dir/tools/addr2line,$tools"
their_tools="nm:/usr/bin/nm,addr2line:/usr/bin/addr2line,$tools"

cat >"$dir/few" <<RUNS
default.dot none --dot
all.dot none --dot $all
all.text none --text --show_bytes
RUNS
filters="--focus=put|create|Object|reserve --ignore=Grid|zcalloc|first_done"
cat >"$dir/many" <<RUNS
small.dot none --dot --nodecount=10 --maxdegree=2 --show_bytes
fractions.dot none --dot --nodefraction=.05 --edgefraction=.02
objects.dot none --dot --inuse_objects
objects.text none --text --inuse_objects
lines.dot none --dot --lines $all
lines.text none --text --lines
files.dot none --dot --files
files.text none --text --files --show_bytes
addresses.dot none --dot --addresses $all
addresses.text none --text --addresses --show_bytes
filtered.dot none --dot $filters
filtered.text none --text --show_bytes $filters
place.text none --text --lines --focus=\.(cc|h|c):[0-9]*[05]\$
stacks.collapsed none --collapsed
stacks-filtered.collapsed none --collapsed $filters
RUNS
cat >"$dir/pairs" <<RUNS
base.dot base --dot
base-all.dot base --dot $all --show_bytes
base.text base --text --show_bytes
base-lines.text base --text --lines --show_bytes
base-addresses.text base --text --addresses --show_bytes
base-filtered.text base --text $filters --show_bytes
base-objects.dot base --dot --inuse_objects
base.collapsed base --collapsed
swap.dot swap --dot
swap.text swap --text --show_bytes
swap.collapsed swap --collapsed
RUNS
cat >"$dir/accumulated" <<RUNS
ever.dot none --dot --alloc_space
ever.text none --text --alloc_space --show_bytes
ever-objects.text none --text --alloc_objects
ever-base.text base --text --alloc_space --show_bytes
ever-base-objects.dot base --dot --alloc_objects
RUNS

jeprof() { # tools, runs, output directory, binary, profile, base
    mkdir "$3"
    JEPROF_TOOLS=$1 HW_SYMBOLS=$3.symbols HW_RUNS=$2 HW_OUT=$3 \
        perl "$dir/jeprof" --dot ${6:+"--base=$6"} "$4" "$5" \
        >"$3.err" 2>&1 || { cat "$3.err"; return 1; }
}

ours() { # output directory, binary, profile, base
    mkdir "$1"
    while read -r _name _pair _flags; do
        _now=$3 _base=
        [ "$_pair" != base ] || _base=--base=$4
        [ "$_pair" != swap ] || { _now=$4 _base=--base=$3; }
        # shellcheck disable=SC2086
        "$prof" --allocator-frames $_flags $_base "$2" "$_now" >"$1/$_name" \
            2>"$dir/ours.err" || { cat "$dir/ours.err"; exit 1; }
    done <"$at/names"
    [ ! -s "$dir/ours.err" ] || sort -u "$dir/ours.err"
}

must_be_equal() { # what, theirs, ours
    if "$here/jeprof_compare.py" "$2" "$3" >"$dir/report" 2>&1; then
        echo "$1: equal"
        grep '^  [^ ]' "$dir/report"
    else
        echo "$1: DIFFERENT"
        cat "$dir/report"
        failures="$failures [$1]"
    fi
}

compare() { # case, binary, profile, base or "", lists of reports...
    case=$1 binary=$2 now=$3 base=$4
    shift 4
    at=$dir/$case
    mkdir "$at"
    (cd "$dir" && cat few "$@") >"$at/runs"
    grep -E '^(default|all|lines|files|objects|filtered|base-lines)\.' \
        "$at/runs" >"$at/names"
    jeprof "$our_tools" "$at/names" "$at/tools" "$binary" "$now" "$base" &
    other=$!
    jeprof "$their_tools" "$at/runs" "$at/theirs" "$binary" "$now" "$base"
    mkdir "$at/oracle"
    "$oracle" "$at/runs" "$at/oracle" "$at/theirs.symbols" "$binary" "$now" \
        "${base:-$now}"
    must_be_equal "$case, graph" "$at/theirs" "$at/oracle"
    ours "$at/ours" "$binary" "$now" "$base"
    mkdir "$at/as-is"
    mv "$at/theirs/default.dot" "$at/as-is"
    "$here/jeprof_compare.py" "$at/as-is" "$at/ours" >"$dir/report" || :
    echo "$case, as-is:"
    if [ -n "${VERBOSE:-}" ]; then
        cat "$dir/report"
    else
        grep '^  [^ ]' "$dir/report" || :
    fi
    wait "$other"
    other=
    must_be_equal "$case, names" "$at/tools" "$at/ours"
    "$prof" --dot "$binary" "$now" 2>/dev/null >"$at/plain.dot"
    if grep -E 'label="(lib|je_|_rjem_)?(jemalloc|malloc|calloc|realloc|operator\\nnew)' \
        "$at/plain.dot"; then
        echo "$case: these are the allocator's"
        failures="$failures [$case, allocator]"
    fi
    if command -v dot >/dev/null; then
        for graph in "$at/ours/default.dot" "$at/plain.dot"; do
            dot -Tplain "$graph" >/dev/null
        done
    fi
}

load() { # case, how to sample, binary, lists of reports...
    _case=$1 _conf=$2 _binary=$3
    shift 3
    MALLOC_CONF="prof:true,$_conf,prof_final:true,prof_prefix:$dir/$_case" \
        "$_binary"
    _base=
    case $_conf in
    *interval*) _base=$(ls "$dir/$_case".*.i3.heap) ;;
    esac
    compare "$_case" "$_binary" "$(ls "$dir/$_case".*.f.heap)" "$_base" "$@"
}

compile() { # output, flags...
    _output=$1
    shift
    g++ -std=c++17 -O2 -pthread -o "$_output" "$here/heap_load.cc" "$@"
}

case_inlined() { # with all that was ever allocated
    compile "$dir/load" -g -ljemalloc
    load inlined lg_prof_sample:0,prof_accum:true,lg_prof_interval:22 \
        "$dir/load" many pairs accumulated
}

case_sampled() { # stacks come and go
    compile "$dir/load-sampled" -g -ljemalloc
    load sampled lg_prof_sample:12,lg_prof_interval:22 "$dir/load-sampled" \
        pairs
}

case_split() { # stripped, its debug file beside it
    compile "$dir/load-split" -g -ljemalloc
    (cd "$dir" && objcopy --only-keep-debug load-split load-split.debug &&
        strip load-split && objcopy --add-gnu-debuglink=load-split.debug load-split)
    load split lg_prof_sample:0 "$dir/load-split"
}

case_stripped() { # and nothing kept
    compile "$dir/load-stripped" -g -s -ljemalloc
    load stripped lg_prof_sample:0 "$dir/load-stripped"
}

case_static() {
    compile "$dir/load-static" -g -l:libjemalloc_pic.a -ldl -lm
    load static lg_prof_sample:0 "$dir/load-static"
}

case_fixed() { # not a PIE, jemalloc in it
    compile "$dir/load-fixed" -g -no-pie -l:libjemalloc.a -ldl -lm
    load fixed lg_prof_sample:12 "$dir/load-fixed"
}

case_redis() {
    LD_PRELOAD=libjemalloc.so.2 \
        MALLOC_CONF="prof:true,prof_accum:true,lg_prof_sample:12,lg_prof_interval:24,prof_final:true,prof_prefix:$dir/redis" \
        /usr/bin/redis-server --port 0 --unixsocket "$dir/redis.sock" \
        --save "" --dir "$dir" --daemonize no >"$dir/redis.log" 2>&1 &
    redis=$!
    wait_for 60 redis-cli -s "$dir/redis.sock" ping
    redis-benchmark -s "$dir/redis.sock" -q -n 5000 -r 5000 -P 16 \
        -t set,lpush,sadd,hset,zadd,incr >/dev/null
    redis-cli -s "$dir/redis.sock" debug populate 50000 >/dev/null
    redis-cli -s "$dir/redis.sock" shutdown nosave >/dev/null 2>&1 || :
    wait "$redis" || :
    redis=
    compare redis /usr/bin/redis-server "$(ls "$dir"/redis.*.f.heap)" \
        "$(ls "$dir"/redis.*.i0.heap)" many pairs accumulated
}

[ $# -gt 0 ] || set -- inlined sampled split stripped static fixed redis
for one; do
    "case_$one"
done
if [ -n "$failures" ]; then
    echo "jeprof.sh: FAILED:$failures"
    exit 1
fi
echo "jeprof.sh: ok"
