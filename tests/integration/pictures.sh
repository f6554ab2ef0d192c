#!/bin/sh
# pictures.sh - collapsed stacks and pprof files of real programs, against those
# who know: "jeprof --collapsed" and "go tool pprof".
#
# Usage: pictures.sh [CASE...]; BUILD is the build directory; KEEP=1 keeps the
# files.
set -eu

top=$(pwd)
build=${BUILD:-build/release}
case $build in /*) ;; *) build=$top/$build ;; esac
here=$top/tests/integration
picture=$build/bin/picture
dir=$(mktemp -d)
redis=
failed=0

cleanup() {
    [ -z "$redis" ] || kill -9 "$redis" 2>/dev/null || :
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for file in "$picture" /usr/bin/jeprof; do
    [ -x "$file" ] || { echo "pictures.sh: $file is missing" >&2; exit 1; }
done
command -v go >/dev/null || { echo "pictures.sh: no go" >&2; exit 1; }
export PPROF_TMPDIR="$dir" HOME="$dir" GOTOOLCHAIN=local

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

check() { # what, command...
    _what=$1
    shift
    if "$@" >"$dir/report" 2>&1; then
        echo "$_what: ok ($(tail -n 1 "$dir/report"))"
    else
        echo "$_what: FAILED"
        sed 's/^/    /' "$dir/report"
        failed=1
    fi
}

compare() { # case, binary, profile
    HW_SYMBOLS=$dir/symbols perl "$dir/jeprof" --collapsed "$2" "$3" \
        >"$dir/jeprof.collapsed" 2>"$dir/jeprof.err" || {
        cat "$dir/jeprof.err"
        exit 1
    }
    "$picture" collapsed "$2" "$3" "$dir/symbols" --allocator-frames \
        >"$dir/collapsed"
    check "$1, collapsed" "$here/collapsed_compare.py" \
        "$dir/jeprof.collapsed" "$dir/collapsed"
    "$picture" pprof "$2" "$3" "$dir/symbols" --allocator-frames \
        >"$dir/$1.pb.gz"
    check "$1, pprof" go tool pprof -top -unit=B -nodecount=1000000 \
        -nodefraction=0 -output="$dir/top" "$dir/$1.pb.gz"
    [ ! -s "$dir/report" ] || ! grep -i 'error\|fail\|could not' "$dir/report" ||
        failed=1
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

case_sampled() {
    compile "$dir/load-sampled" -g -ljemalloc
    load sampled 12 "$dir/load-sampled"
}

case_inlined() {
    compile "$dir/load" -g -ljemalloc
    load inlined 0 "$dir/load"
}

case_stripped() {
    compile "$dir/load-stripped" -g -s -ljemalloc
    load stripped 0 "$dir/load-stripped"
}

case_static() {
    compile "$dir/load-static" -g -l:libjemalloc_pic.a -ldl -lm
    load static 0 "$dir/load-static"
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

[ $# -gt 0 ] || set -- inlined sampled stripped static redis
for one; do
    "case_$one"
done
[ $failed = 0 ] && echo "pictures.sh: ok" || echo "pictures.sh: FAILED"
exit $failed
