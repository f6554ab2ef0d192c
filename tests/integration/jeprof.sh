#!/bin/sh
# jeprof.sh - our graphs against jeprof's, on profiles of real programs.
#
# For each dump, with the default drop rules and with nothing dropped:
#   graph    our graph from jeprof's own names (jeprof_oracle)   must be equal
#   names    heapwire-prof --allocator-frames against jeprof, which gets the
#            symbols that we use (jeprof_tools.py)               must be equal
#   as-is    heapwire-prof --allocator-frames against jeprof as it is: printed,
#            for there jeprof lacks symbols (stripped libraries, no sizes)
# dot_compare.py says what "equal" leaves open.
#
# Usage: jeprof.sh [CASE...]; BUILD is the build directory; KEEP=1 keeps the
# files.
set -eu

top=$(pwd)
build=${BUILD:-build/release}
case $build in /*) ;; *) build=$top/$build ;; esac
here=$top/tests/integration
prof=$build/bin/heapwire-prof
oracle=$build/bin/jeprof_oracle
dir=$(mktemp -d)
redis=
failed=0
all="--nodecount=100000 --nodefraction=0 --edgefraction=0 --maxdegree=100000"

cleanup() {
    [ -z "$redis" ] || kill -9 "$redis" 2>/dev/null || :
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for file in "$prof" "$oracle" /usr/bin/jeprof; do
    [ -x "$file" ] || { echo "jeprof.sh: $file is missing" >&2; exit 1; }
done

# A jeprof that writes its names to $HW_SYMBOLS on the way.
sed 's/^  if (!defined(\$main::opt_thread)) {$/  HwSymbols($symbols);\n&/' \
    /usr/bin/jeprof >"$dir/jeprof"
cat >>"$dir/jeprof" <<'PERL'
sub HwSymbols {
  my $symbols = shift;
  open(my $out, ">", $ENV{HW_SYMBOLS}) || die;
  print $out join("\t", $_, @{$symbols->{$_}}), "\n"
    foreach sort keys(%{$symbols});
  close($out) || die;
}
PERL
mkdir "$dir/tools"
for tool in nm addr2line; do
    ln -s "$here/jeprof_tools.py" "$dir/tools/$tool"
done
tools="objdump:/usr/bin/objdump,c++filt:/usr/bin/c++filt"
our_tools="nm:$dir/tools/nm,addr2line:$dir/tools/addr2line,$tools"
their_tools="nm:/usr/bin/nm,addr2line:/usr/bin/addr2line,$tools"

jeprof() { # tools, symbols, output, options...
    _tools=$1 _symbols=$2 _out=$3
    shift 3
    if ! JEPROF_TOOLS=$_tools HW_SYMBOLS=$_symbols \
        perl "$dir/jeprof" --dot "$@" >"$_out" 2>"$dir/jeprof.err"; then
        cat "$dir/jeprof.err"
        return 1
    fi
}

must_be_equal() { # what, theirs, ours
    if "$here/dot_compare.py" "$2" "$3" >"$dir/report" 2>&1; then
        echo "$1: equal ($(tail -n 1 "$dir/report"))"
    else
        echo "$1: DIFFERENT"
        sed 's/^/    /' "$dir/report"
        failed=1
    fi
}

compare() { # case, binary, profile
    for set in default all; do
        options=
        [ $set = default ] || options=$all
        jeprof "$their_tools" "$dir/symbols" "$dir/jeprof.dot" $options \
            "$2" "$3"
        "$oracle" "$2" "$3" "$dir/symbols" --allocator-frames $options \
            >"$dir/oracle.dot"
        "$prof" --dot --allocator-frames $options "$2" "$3" \
            >"$dir/ours.dot" 2>"$dir/ours.err" || { cat "$dir/ours.err"; exit 1; }
        [ ! -s "$dir/ours.err" ] || sed "s/^/$1: /" "$dir/ours.err"
        must_be_equal "$1, $set, graph" "$dir/jeprof.dot" "$dir/oracle.dot"
        "$here/dot_compare.py" "$dir/jeprof.dot" "$dir/ours.dot" \
            >"$dir/report" || :
        echo "$1, $set, as-is: $(tail -n 1 "$dir/report")"
        [ $set = all ] || sed '$d; s/^/    /' "$dir/report"
        jeprof "$our_tools" "$dir/symbols" "$dir/jeprof.dot" $options "$2" "$3"
        must_be_equal "$1, $set, names" "$dir/jeprof.dot" "$dir/ours.dot"
        "$prof" --dot "$2" "$3" 2>/dev/null >"$dir/plain.dot"
        if grep -E 'label="(lib|je_|_rjem_)?(jemalloc|malloc|calloc|realloc|operator\\nnew)' \
            "$dir/plain.dot"; then
            echo "$1: these are the allocator's"
            failed=1
        fi
        if command -v dot >/dev/null; then
            dot -Tplain "$dir/ours.dot" >/dev/null
            dot -Tplain "$dir/plain.dot" >/dev/null
        fi
    done
}

load() { # case, sampling, binary
    MALLOC_CONF="prof:true,lg_prof_sample:$2,prof_final:true,prof_prefix:$dir/$1" \
        "$3"
    compare "$1" "$3" "$(ls "$dir/$1".*.f.heap)"
}

compile() { # output, flags...
    _output=$1
    shift
    g++ -std=c++17 -O2 -pthread -o "$_output" "$here/heap_load.cc" "$@"
}

case_inlined() {
    compile "$dir/load" -g -ljemalloc
    load inlined 0 "$dir/load"
}

case_sampled() {
    compile "$dir/load-sampled" -g -ljemalloc
    load sampled 12 "$dir/load-sampled"
}

case_split() { # stripped, its debug file beside it
    compile "$dir/load-split" -g -ljemalloc
    (cd "$dir" && objcopy --only-keep-debug load-split load-split.debug &&
        strip load-split && objcopy --add-gnu-debuglink=load-split.debug load-split)
    load split 0 "$dir/load-split"
}

case_stripped() { # and nothing kept
    compile "$dir/load-stripped" -g -s -ljemalloc
    load stripped 0 "$dir/load-stripped"
}

case_static() {
    compile "$dir/load-static" -g -l:libjemalloc_pic.a -ldl -lm
    load static 0 "$dir/load-static"
}

case_fixed() { # not a PIE, jemalloc in it
    compile "$dir/load-fixed" -g -no-pie -l:libjemalloc.a -ldl -lm
    load fixed 12 "$dir/load-fixed"
}

case_redis() {
    LD_PRELOAD=libjemalloc.so.2 \
        MALLOC_CONF="prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:$dir/redis" \
        /usr/bin/redis-server --port 0 --unixsocket "$dir/redis.sock" \
        --save "" --dir "$dir" --daemonize no >"$dir/redis.log" 2>&1 &
    redis=$!
    for _ in $(seq 100); do
        redis-cli -s "$dir/redis.sock" ping >/dev/null 2>&1 && break
        sleep 0.1
    done
    redis-benchmark -s "$dir/redis.sock" -q -n 20000 -r 10000 -P 16 \
        -t set,lpush,sadd,hset,zadd,incr >/dev/null
    redis-cli -s "$dir/redis.sock" debug populate 50000 >/dev/null
    redis-cli -s "$dir/redis.sock" shutdown nosave >/dev/null 2>&1 || :
    wait "$redis" || :
    redis=
    compare redis /usr/bin/redis-server "$(ls "$dir"/redis.*.f.heap)"
}

[ $# -gt 0 ] || set -- inlined sampled split stripped static fixed redis
for one; do
    "case_$one"
done
[ $failed = 0 ] && echo "jeprof.sh: ok" || echo "jeprof.sh: FAILED"
exit $failed
