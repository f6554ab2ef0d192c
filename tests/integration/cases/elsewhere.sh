#!/bin/sh
# elsewhere.sh - libraries that bring a jemalloc of their own: how much lies in
# them is said wherever a profile, which lacks it, is shown.
. tests/integration/lib/lib.inc

state() { prof 'state()'; }
told() { state | grep -q "$1"; }
enabled() { # what it warns of
    sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'; SHOW WARNINGS"
}
matches() { # WHAT EXPRESSION TEXT
    check
    printf '%s\n' "$3" | grep -q -- "$2" || fault "$1: no '$2' in: $3"
}
lacks() { # WHAT EXPRESSION TEXT
    check
    printf '%s\n' "$3" | grep -q -- "$2" && fault "$1: '$2' in: $3"
    return 0
}
between() { # WHAT LEAST MOST GOT
    check
    case $4 in
    '' | *[!0-9]*) fault "$1: '$4'" ;;
    *) [ "$4" -ge "$2" ] && [ "$4" -le "$3" ] || fault "$1: $4" ;;
    esac
}
flat() { # a head that is broken into lines, as one
    tr -s '\n ' '  '
}
# jemalloc's figures are compared with rss where they are of one moment: not those
# of a machine that stood still meanwhile.
has_note() { # $note
    note=$(sql 'SELECT note FROM heapwire.memory')
    case $note in *"rss exceeds"*) ;; *) false ;; esac
}
has_unexplained() { # $unexplained
    unexplained=$(sql 'SELECT unexplained FROM heapwire.memory')
    [ "$unexplained" != NULL ]
}
tries=0
has_snapshot() { # BEGINNING: of its name; $name, $head
    tries=$((tries + 1))
    name=$1$tries
    prof "snapshot(\"$name\")"
    head=$(sql "SELECT text('$name')" | flat)
    case $head in *"RSS "*" outside "* | *"RSS "*" besides "*) ;; *) false ;; esac
}

# ---- three libraries, and a program that loads them ----

# Debian's jemalloc with a prefix; heapwire finds it by the library's symbols.
cp "$(ls /usr/lib/*/libjemalloc_pic.a | head -n 1)" "$work/je.a"
ar d "$work/je.a" jemalloc_cpp.pic.o
for name in malloc calloc realloc free posix_memalign aligned_alloc memalign \
    valloc pvalloc malloc_usable_size mallctlnametomib mallctlbymib; do
    echo "$name engine_je_$name"
done >"$work/names"
echo mallctl real_mallctl >>"$work/names" # own_jemalloc.c has the other
objcopy --redefine-syms="$work/names" "$work/je.a"
echo '{ global: library_hold; engine_je_*; local: *; };' >"$work/map"

library() { # NAME, whether built with PROFILES, with STATISTICS
    cc -O2 -shared -fPIC -s -DPROFILES="$2" -DSTATISTICS="$3" -o "$work/$1" \
        tests/integration/programs/own_jemalloc.c -Wl,--whole-archive \
        "$work/je.a" -Wl,--no-whole-archive -lm \
        -Wl,--version-script="$work/map"
}
library libsilent.so 0 0
library libengine.so 0 1
library libchoosable.so 1 1

# host OPTIONS...: of heapwire-run
host() {
    rm -rf "$work/node" "$work/orders"
    mkfifo "$work/orders"
    # Debian's is not built to be loaded late: its thread data wants such room.
    GLIBC_TUNABLES=glibc.rtld.optional_static_tls=32768 \
        "$bin/heapwire-run" --profiling-source jemalloc \
        --listen none --linger 0 --state-dir "$work/node" \
        "$@" -- "$bin/library_host" \
        <"$work/orders" >"$work/out" 2>"$work/log" &
    run=$!
    pids="$run $pids"
    exec 9>"$work/orders"
    held=0
    wait_for 60 sql 'SELECT 1'
}
is_held() { [ "$(grep -c held "$work/out")" = "$held" ]; }
order() {
    held=$((held + 1))
    echo "$*" >&9
    wait_for 60 is_held || { cat "$work/log" && exit 1; }
}
figure() { # COLUMN NAME: of the library's jemalloc
    sql "SELECT $1 FROM heapwire.allocators WHERE object LIKE '%/$2'"
}
has_own() { # which is at most a second old
    [ "$(figure allocated libjemalloc.so.2)" -ge $((20 * mb)) ]
}
is_listed() { figure object "$1" | grep -q "$1"; }
holds() { [ "$(figure allocated "$1")" -ge $(($2 * mb)) ]; }
is_unexplained() {
    [ "$(sql 'SELECT unexplained FROM heapwire.memory')" -ge $(($1 * mb)) ]
}
load() { # NAME MB: until the figures, which are at most a second old, have it
    order load "$work/$1" "$2"
    wait_for 60 is_listed "$1" || fault "$1 is not listed"
    if [ "$1" = libsilent.so ]; then
        wait_for 60 is_unexplained $(($2 - 2))
    else
        wait_for 60 holds "$1" "$2"
    fi || fault "$1 has less than $2 MB"
}
host_ends() {
    exec 9>&-
    check
    wait "$run" || fault "the program ended with status $?: $(cat "$work/log")"
}

# heapwire.allocators has both: in MB, with what an idle jemalloc uses itself.
mb=1048576
host
wait_for 60 told "state: inactive"
same "nothing to warn of" "" "$(enabled)"
order own 20
lacks "no other jemalloc: state()" "^not seen" "$(state)"
wait_for 60 has_own || true
between "the program's own" $((20 * mb)) $((22 * mb)) \
    "$(figure allocated libjemalloc.so.2)"
between "is in memory" $((20 * mb)) $((30 * mb)) \
    "$(figure resident libjemalloc.so.2)"

# ---- one that was built without statistics ----

silent="an unknown part is in libsilent.so's jemalloc, built without \
statistics, which cannot be profiled"
load libsilent.so 30
same "libsilent.so's row" "engine_je_mallctl	0	1	0	0	0	0	NULL	NULL" \
    "$(figure "mallctl, chosen, callable, can_profile, opt_prof,
        serves_malloc, serves_new, allocated, resident" libsilent.so)"
matches "enable_prof() warns" "^Warning	1105	$silent\$" "$(enabled)"
matches "state()" "^not seen: $silent\$" "$(state)"
wait_for 60 has_note || true
matches "heapwire.memory" "; $silent; rss exceeds resident by .*: stacks, \
code, other allocators, and a jemalloc whose figures are not known" "$note"
wait_for 60 has_unexplained || true
between "its bytes are unexplained" $((28 * mb)) $((45 * mb)) "$unexplained"
wait_for 60 has_snapshot silent || true
matches "a view's head" "MB allocated: .*; $silent; " "$head"
matches "it is not said to lie outside all" \
    "RSS [0-9.]*: 3[0-9.]* outside this jemalloc (" "$head"
lacks "how many is not known" "in jemallocs that are not profiled" "$head"

# ---- one with statistics, that cannot be profiled ----

engine="60\.[0-9] MB are in libengine.so's jemalloc, which cannot be profiled"
both="$silent; $engine"
load libengine.so 60
same "libengine.so's row" "engine_je_mallctl	exported	0	1	0	0	0	0	0" \
    "$(figure "mallctl, found, chosen, callable, can_profile, opt_prof, active,
        serves_malloc, serves_new" libengine.so)"
between "libengine.so's" $((60 * mb)) $((61 * mb)) \
    "$(figure allocated libengine.so)"
between "is in memory" $((60 * mb)) $((70 * mb)) \
    "$(figure resident libengine.so)"
same "the chosen one" "libjemalloc.so.2	1	1	1	1" "$(
    sql "SELECT substring_index(object, '/', -1), can_profile, opt_prof, active,
        serves_malloc FROM heapwire.allocators WHERE chosen")"
between "its are still its own" $((20 * mb)) $((22 * mb)) \
    "$(sql 'SELECT allocated FROM heapwire.memory')"

matches "enable_prof() warns" "^Warning	1105	$both\$" "$(enabled)"
matches "state()" "^not seen: $both\$" "$(state)"
wait_for 60 has_note || true
matches "heapwire.memory" "; $both; rss exceeds resident, of all jemallocs, by" \
    "$note"
wait_for 60 has_unexplained || true
between "libengine.so's are explained" $((28 * mb)) $((45 * mb)) "$unexplained"

# Views: what is sampled is the program's alone.
wait_for 60 has_snapshot engine || true
lacking="not in the profile\]: 60\.[0-9] MB, 7[0-9.]*% of the 8[0-9.]* MB that \
are in use: in jemallocs that are not profiled"
for form in text top tree; do
    answer=$(sql "SELECT $form('$name')" | flat)
    matches "$form, head" "MB allocated: .*; $both; " "$answer"
    matches "$form" "$lacking" "$answer"
    matches "$form, RSS" \
        "RSS [0-9.]*: 60.[0-9] in use in other jemallocs, 3[0-9.]* besides (" \
        "$answer"
done
same "what is sampled" "hold_own	20" "$(sql "SELECT function,
    round(flat_bytes / $mb) FROM heapwire.heap_functions
    WHERE snapshot = '$name' ORDER BY flat_bytes DESC LIMIT 1")"

legend() { # DOT's, as text
    grep '^Legend' | sed 's/\\l */ /g'
}
dot=$(sql "SELECT dot('$name')")
matches "dot, legend" " $silent $engine " "$(printf '%s\n' "$dot" | legend)"
matches "dot, node" '^Unseen \[label="\[not in the profile\]\\n60\.[0-9]"' "$dot"
dot=$(prof 'dump_dot_snapshot()')
matches "a new dump's DOT" " $silent $engine " "$(printf '%s\n' "$dot" | legend)"
quoted=$(printf '%s' "$both" | sed "s/'/\&#39;/g")
shown() { # SVG's texts
    sed -n 's/^<text[^>]*>\(.*\)<\/text>$/\1/p' | flat
}
flame=$(sql "SELECT flamegraph('$name')")
matches "flame graph, head" "; $quoted; " "$(printf '%s\n' "$flame" | shown)"
matches "flame graph, block" ">\[not in the profile\] 60\.[0-9] MB<" "$flame"
graph=$(sql "SELECT svg('$name')")
matches "svg, head" "; $quoted; " "$(printf '%s\n' "$graph" | shown)"

# By HTTP.
get() { # PATH FILE
    curl -sS --fail --unix-socket "$work/node/http.sock" -o "$2" \
        "http://localhost$1"
}
for query in "" "?snapshot=$name"; do
    get "/debug/pprof/heap$query" "$work/heap.pb.gz"
    matches "pprof$query, comments" "; $both; " \
        "$(go tool pprof -comments "$work/heap.pb.gz" 2>&1)"
done
post() { # PATH BODY
    curl -sS --fail --unix-socket "$work/node/http.sock" -H 'X-Heapwire: 1' \
        --data "$2" "http://localhost$1"
}
matches "POST /sql" "^\[\[\"\"\]\],.\"warnings\":\[\"$both\"\]}\$" "$(
    post /sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" |
        sed 1d | tr '\n' ' ' | sed 's/^"rows"://; s/ $//')"
matches "POST /profiling/enable" "^warning: $both\$" \
    "$(post /profiling/enable '')"
metric() { sed -n "s/^heapwire_$1 \([0-9]*\)\$/\1/p" "$work/metrics"; }
has_metrics() {
    get /metrics "$work/metrics" && metric memory_unexplained_bytes | grep -q .
}
wait_for 60 has_metrics || true
between "/metrics: allocated" $((20 * mb)) $((22 * mb)) \
    "$(metric allocator_allocated_bytes)"
between "/metrics: unexplained" $((28 * mb)) $((45 * mb)) \
    "$(metric memory_unexplained_bytes)"

# ---- one that could be profiled ----

load libchoosable.so 40
choosable="40\.[0-9] MB are in libchoosable.so's jemalloc, which is not \
profiled: --allocator libchoosable.so chooses it"
matches "enable_prof() warns" "^Warning	1105	$both; $choosable\$" "$(enabled)"
host_ends

# As it is told: no other is preloaded, and it wants what heapwire-run sets for
# those that it finds before the start.
host --allocator libchoosable.so
load libchoosable.so 10
wait_for 60 told "state: opt.prof is off" || fault "$(state)"
matches "what to do" "opt.prof off; restart it with \
MALLOC_CONF=prof:true,prof_active:false in its environment; only what \
libchoosable.so allocates is seen" "$(state)"
host_ends
export MALLOC_CONF=prof:true,prof_active:false
host --allocator libchoosable.so
load libchoosable.so 10
wait_for 60 told "state: inactive" || fault "$(state)"
matches "enable_prof() warns" "only what libchoosable.so allocates is seen" \
    "$(enabled)"
order load "$work/libchoosable.so" 40
prof 'snapshot("chosen")' >/dev/null
same "what is sampled" "library_hold	40" "$(sql "SELECT function,
    round(flat_bytes / $mb) FROM heapwire.heap_functions
    WHERE snapshot = 'chosen' ORDER BY flat_bytes DESC LIMIT 1")"
host_ends

# The first jemalloc of the process, right behind its arrival.
host --jemalloc no
wait_for 60 told "state: no jemalloc" || fault "$(state)"
order load "$work/libchoosable.so" 10
lacks "enable_prof() at once" "does not allocate through jemalloc" "$(enabled)"
host_ends
finish_test
