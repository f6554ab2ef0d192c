#!/bin/sh
# pictures.sh - the forms of a profile, on real programs, against other tools
# (collapsed stacks, text and dot: see jeprof.sh):
#   pprof      "go tool pprof -top" and our own top
#   raw        "jeprof --text" on our text and on jemalloc's
#   pictures   xmllint; pdftotext, which must find a function; qpdf, whatever
#              functions are called
#
# Usage: pictures.sh [CASE...]; BUILD is the build directory; KEEP=1 keeps the
# files.
set -eu
. tests/integration/lib/wait.inc

top=$(pwd)
build=${BUILD:-build/release}
case $build in /*) ;; *) build=$top/$build ;; esac
here=$top/tests/integration/programs
prof=$build/bin/heapwire-prof
dir=$(mktemp -d)
redis=
failed=0

cleanup() {
    [ -z "$redis" ] || kill -9 "$redis" 2>/dev/null || :
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for file in "$prof" /usr/bin/jeprof; do
    [ -x "$file" ] || { echo "pictures.sh: $file is missing" >&2; exit 1; }
done
export PPROF_TMPDIR="$dir" PPROF_BINARY_PATH="$dir" GOTOOLCHAIN=local

# Debian's is there as a program; other Gos make it anew.
pprof() {
    for _tool in /usr/lib/go-*/pkg/tool/*/pprof; do
        [ ! -x "$_tool" ] || break
    done
    [ -x "$_tool" ] || _tool="go tool pprof"
    $_tool "$@"
}

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

show() { # form, options... of the case at hand
    _form=$1
    shift
    "$prof" "--$_form" "$@" "$binary" "$profile" 2>"$dir/prof.err" || {
        cat "$dir/prof.err"
        exit 1
    }
}

# pprof's figures are our top's, and it needs no binary for them.
compare_pprof() { # what, options...
    _case=$1
    shift
    show pprof "$@" >"$dir/file.pb.gz"
    check "$_case, gzip" gzip -t "$dir/file.pb.gz"
    pprof -top -symbolize=none -unit=B -nodecount=1000000 -nodefraction=0 \
        -output="$dir/top" "$dir/file.pb.gz" 2>"$dir/pprof.err"
    check "$_case, no binary" \
        sh -c '! grep -iv "^Generating report" "$1"' sh "$dir/pprof.err"
    show top --nodecount=1000000 --nodefraction=0 --show_bytes "$@" \
        >"$dir/ours"
    check "$_case, figures" "$here/pprof_compare.py" "$dir/top" "$dir/ours"
}

compare() { # case, binary, profile, an earlier one
    binary=$2 profile=$3
    compare_pprof "$1, pprof"
    compare_pprof "$1, pprof of a difference" "--base=$4"
    for form in flamegraph svg; do
        for base in "" "--base=$4"; do
            show $form $base >"$dir/$form.svg"
            check "$1, $form $base" xmllint --noout --nonet "$dir/$form.svg"
        done
    done
    for base in "" "--base=$4"; do
        show pdf $base >"$dir/pdf"
        pdftotext "$dir/pdf" "$dir/pdf.text"
        check "$1, pdf $base" grep '^__libc_start_main' "$dir/pdf.text"
    done
    show tree >"$dir/tree"
    check "$1, tree" grep '  __libc_start_main' "$dir/tree"
    show tree "--base=$4" >"$dir/tree"
    check "$1, tree of a difference" grep ' since the base$' "$dir/tree"
    [ -z "${KEEP:-}" ] || show flamegraph "--base=$4" >"$dir/$1.diff.svg"
    [ -z "${KEEP:-}" ] || show flamegraph >"$dir/$1.svg"
}

# jeprof says of our jemalloc text what it said of jemalloc's.  It adds in the
# order of its hashes, and so cuts bytes here and there, unless that is fixed.
compare_raw() { # case
    show raw >"$dir/raw.heap"
    for file in "$profile" "$dir/raw.heap"; do
        PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 \
            /usr/bin/jeprof --text --show_bytes "$binary" "$file" \
            2>"$dir/jeprof.err" >"$dir/$(basename "$file").text" || {
            cat "$dir/jeprof.err"
            exit 1
        }
    done
    check "$1, raw" cmp "$dir/$(basename "$profile").text" \
        "$dir/raw.heap.text"
    check "$1, raw is more than nothing" grep main "$dir/raw.heap.text"
    "$prof" --raw "--base=$profile" "$binary" "$profile" \
        >"$dir/refused" 2>&1 && failed=1
    check "$1, raw of a difference" grep "cannot be written as raw" \
        "$dir/refused"
}

# Dumps while it goes and one at its end.
load() { # case, sampling, binary
    MALLOC_CONF="prof:true,lg_prof_sample:$2,prof_final:true,lg_prof_interval:22,prof_prefix:$dir/$1" \
        "$3"
    compare "$1" "$3" "$(ls "$dir/$1".*.f.heap)" \
        "$(ls "$dir/$1".*.i*.heap | head -n 1)"
}

compile() { # output, flags...
    _output=$1
    shift
    g++ -std=c++17 -O2 -pthread -o "$_output" "$here/heap_load.cc" "$@"
}

case_sampled() {
    compile "$dir/load-sampled" -g -ljemalloc
    load sampled 12 "$dir/load-sampled"
    compare_raw sampled
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
        MALLOC_CONF="prof:true,lg_prof_sample:12,prof_final:true,lg_prof_interval:22,prof_prefix:$dir/redis" \
        /usr/bin/redis-server --port 0 --unixsocket "$dir/redis.sock" \
        --save "" --dir "$dir" --daemonize no >"$dir/redis.log" 2>&1 &
    redis=$!
    wait_for 60 redis-cli -s "$dir/redis.sock" ping
    redis-benchmark -s "$dir/redis.sock" -q -n 20000 -r 10000 -P 16 \
        -t set,lpush,sadd,hset,zadd,incr >/dev/null
    cp "$(ls "$dir"/redis.*.i*.heap | head -n 1)" "$dir/before.heap"
    redis-cli -s "$dir/redis.sock" debug populate 50000 >/dev/null
    redis-cli -s "$dir/redis.sock" shutdown nosave >/dev/null 2>&1 || :
    wait "$redis" || :
    redis=
    compare redis /usr/bin/redis-server "$(ls "$dir"/redis.*.f.heap)" \
        "$dir/before.heap"
}

# Names that a PDF's own syntax and fonts could stumble over: each file is
# whole, and has no more than text.
case_hostile() {
    python3 "$here/hostile_pdf.py" "$build/bin/picture" "$dir" >"$dir/said" ||
        failed=1
    sed 's/^/hostile, /' "$dir/said"
}

[ $# -gt 0 ] || set -- inlined sampled stripped static redis hostile
for one; do
    "case_$one"
done
[ $failed = 0 ] && echo "pictures.sh: ok" || echo "pictures.sh: FAILED"
exit $failed
