#!/bin/sh
# Hosts without jemalloc, with one that does not serve, that cannot profile,
# that has a prefix; and unusable state directories.
. tests/integration/lib/agent.inc
forker=$WORK/forker
cp "$BUILD/bin/forker" "$forker"
mkfifo "$WORK/stdin"

host_up() {
    : >"$WORK/stdout" # what the one before said
    (with_agent "$forker" "$forker" closeall) <"$WORK/stdin" \
        >"$WORK/stdout" 2>"$WORK/stderr" &
    host=$!
    started $host
    exec 9>"$WORK/stdin"
    wait_for 60 file_has "$WORK/stdout" descriptors= || fail "no host"
}

host_down() {
    exec 9>&-
    wait $host || fail "the host ended with status $?"
}

# refuses STATUS WHAT: hello and everything that needs profiles say so
refuses() {
    expect "$2: hello" "$1" "$(agent_field allocator)"
    for op in active enable disable "dump $WORK/heap $WORK/maps"; do
        agent $op >"$WORK/answer"
        expect "$2: $op" "1 $1" "$? $(field status <"$WORK/answer")"
        [ "$(field text <"$WORK/answer")" ] || fail "$2: $op says nothing"
    done
}

PRELOAD=
host_up
refuses 1 "no jemalloc"
expect "a statistic without jemalloc" 1 "$(agent stats "$WORK/stats" | field status)"
host_down

# libc's malloc comes first: jemalloc is there and serves no call.
PRELOAD=libc.so.6:$JEMALLOC
host_up
refuses 1 "a jemalloc that does not serve"
host_down

PRELOAD=$JEMALLOC
CONF=
host_up
refuses 3 "opt.prof off"
agent stats "$WORK/stats" >/dev/null || fail "statistics without profiling"
grep -q "^stats.allocated [1-9]" "$WORK/stats" || fail "stats.allocated"
agent enable | grep -q "prof:true" || fail "enable does not say what to do"
host_down

# Active from the start: since the start.
CONF=prof:true,prof_active:true
host_up
expect "active from the start" "1 0" \
    "$(agent_field active) $(agent_field changes)"
[ "$(agent_field active_since)" -ge "$(agent_field started)" ] || fail "since"
host_down

# The note names threads that are never sampled once profiling is switched on.
CONF=prof:true,prof_active:false,prof_thread_active_init:false
host_up
expect "before enable" "" "$(agent_field note)"
agent enable >/dev/null || fail "enable, threads"
agent_field note | grep -q "^1 of 1 threads are not sampled: they were created" ||
    fail "threads: $(agent_field note)"
host_down
# So are those of a program that has profiling on by itself without them.
CONF=prof:true,prof_active:true,prof_thread_active_init:false
host_up
agent_field note | grep -q "^1 of 1 threads are not sampled: they were created" ||
    fail "threads, its own word: $(agent_field note)"
host_down
CONF=prof:true,prof_active:false
host_up
agent enable >/dev/null || fail "enable, all threads"
expect "all are sampled" "" "$(agent_field note)"
host_down

# A prefixed build, made from Debian's.
cp "$(dirname "$JEMALLOC")/libjemalloc_pic.a" "$WORK/je.a"
ar d "$WORK/je.a" jemalloc_cpp.pic.o
for name in malloc calloc realloc free posix_memalign aligned_alloc memalign \
    valloc pvalloc malloc_usable_size mallctl mallctlnametomib mallctlbymib; do
    echo "$name je_$name"
done >"$WORK/names"
objcopy --redefine-syms="$WORK/names" "$WORK/je.a" &&
    cc -shared -o "$WORK/je.so" -Wl,--whole-archive "$WORK/je.a" \
        -Wl,--no-whole-archive -lpthread -ldl -lm || fail "no prefixed build"
cat >"$WORK/host.c" <<'END'
#include <stdio.h>
#include <string.h>
void *je_malloc(size_t);
int main(void)
{
    char *held = je_malloc(32 << 20);

    memset(held, 1, 32 << 20);
    puts("descriptors=");
    fflush(stdout);
    getchar();
    return held[5] != 1;
}
END
# Linked with it by name; in the program, exported or not, stripped.
cc -o "$WORK/linked" "$WORK/host.c" "$WORK/je.so" &&
    cc -rdynamic -o "$WORK/exported" "$WORK/host.c" "$WORK/je.a" -lm &&
    cc -Wl,--build-id=sha1 -o "$WORK/hidden" "$WORK/host.c" "$WORK/je.a" -lm &&
    strip -o "$WORK/stripped" "$WORK/hidden" || fail "no hosts"
readelf --dyn-syms "$WORK/hidden" | grep -q mallctl && fail "it is exported"
symbol() { nm "$WORK/hidden" | sed -n "s/^0*\([0-9a-f]*\) [A-Za-z] $1\$/\1/p"; }
id=$(readelf -n "$WORK/hidden" | sed -n 's/ *Build ID: //p')
address=$(symbol je_mallctl)
[ "$id" ] && [ "$address" ] || fail "nothing to look for"
code=$(objdump -d --start-address=0x"$address" --stop-address=$((0x$address + 48)) \
    "$WORK/hidden" | sed -n 's/^ *[0-9a-f]*:\t\([0-9a-f ]*\).*/\1/p' |
    tr -d ' \n')
code=$(printf %s "$code" | cut -c1-64)
expect "bytes of code" 64 ${#code}

# own_up EXE: it has the variable of a prefixed one
own_up() {
    forker=$1
    JE_MALLOC_CONF=$CONF
    export JE_MALLOC_CONF
    host_up
}
# listed MALLCTL KEY: of heapwire's list; in $object
object=
listed() {
    agent allocators "$WORK/list" >/dev/null || fail "no list"
    grep "$object.*mallctl=$1	" "$WORK/list" | tr '\t' '\n' | field "$2"
}
variable=JE_MALLOC_CONF own=je_mallctl # by its prefix
# serves_own WHAT: that jemalloc alone is profiled, whatever else is loaded
serves_own() {
    expect "$1" "0 $own $variable 1" \
        "$(agent_field allocator) $(agent_field mallctl) $(agent_field conf) \
$(agent_field opt_prof)"
    agent enable >/dev/null || fail "enable, $1"
    agent dump "$WORK/heap" "$WORK/maps" >/dev/null || fail "dump, $1"
    agent stats "$WORK/stats" >/dev/null || fail "statistics, $1"
    [ "$(sed -n 's/^stats.allocated //p' "$WORK/stats")" -gt 33000000 ] ||
        fail "$1: statistics of another jemalloc"
    expect "$1: chosen" "1 1 1 1 1" "$(listed $own chosen) \
$(listed $own callable) $(listed $own config_prof) \
$(listed $own opt_prof) $(listed $own active)"
    [ "$(listed $own allocated)" -gt 33000000 ] || fail "$1: bytes"
}

PRELOAD=$WORK/je.so
CONF=prof:true,prof_active:false
host_up
refuses 1 "a prefixed one without callers"
expect "it is listed" "0 1" \
    "$(listed je_mallctl chosen) $(listed je_mallctl callable)"
host_down
for preload in "" "$JEMALLOC"; do
    PRELOAD=$preload
    for host_name in linked exported; do
        [ "$host_name$preload" = "linked$JEMALLOC" ] && continue
        own_up "$WORK/$host_name"
        serves_own "$host_name, preloaded: $preload"
        expect "found" exported "$(listed je_mallctl found)"
        [ -z "$preload" ] || expect "the preloaded" "0 1 1" \
            "$(listed mallctl chosen) $(listed mallctl malloc) \
$(listed mallctl callable)"
        host_down
    done
done

# What heapwire-run found in the stripped file; beside nonsense, and others'.
for entry in "$id,$address,je_,JE_MALLOC_CONF,scan" \
    ";x;$id,,je_,A,scan;00ff,1,je_,A,scan;$id,$address,je_,JE_MALLOC_CONF,scan" \
    "-$code,$address,je_,JE_MALLOC_CONF,scan"; do
    export HEAPWIRE_JEMALLOC="$entry"
    for host_name in hidden stripped; do
        own_up "$WORK/$host_name"
        serves_own "$host_name, $entry"
        expect "found" scan "$(listed je_mallctl found)"
        host_down
    done
done

# cannot WHAT WHY: nothing is profiled, above all not the preloaded one
cannot() {
    own_up "$WORK/stripped"
    agent_field note | grep -q "stripped has a jemalloc of its own \
(prefix je_) that cannot be called: .*$2" ||
        fail "$1: $(agent_field note)"
    for op in active enable disable "dump $WORK/heap $WORK/maps" \
        "stats $WORK/stats"; do
        agent $op >"$WORK/answer"
        expect "$1: $op" "1 7" "$? $(field status <"$WORK/answer")"
        field text <"$WORK/answer" | grep -q "$2" || fail "$1: $op: no words"
    done
    expect "$1: listed" "0 0" \
        "$(listed je_mallctl chosen) $(listed je_mallctl callable)"
    expect "$1: the preloaded" "0 1" \
        "$(listed mallctl chosen) $(listed mallctl callable)"
    host_down
}
PRELOAD=$JEMALLOC
export HEAPWIRE_JEMALLOC="$id,0,je_,JE_MALLOC_CONF,scan"
cannot "no address" "link it with -rdynamic"
data=$(readelf -SW "$WORK/hidden" |
    sed -n 's/.* \.rodata *PROGBITS *0*\([0-9a-f]*\) .*/\1/p')
HEAPWIRE_JEMALLOC="$id,$data,je_,JE_MALLOC_CONF,scan"
cannot "an address of data" "is not in its code"
HEAPWIRE_JEMALLOC="$id,fffffffffffffff0,je_,JE_MALLOC_CONF,scan"
cannot "an address of nothing" "is not in its code"
HEAPWIRE_JEMALLOC="$id,$(symbol je_mallctlnametomib),je_,JE_MALLOC_CONF,scan"
cannot "another function" "does not answer as one"

# Of another file: never called, and nothing is said of it.
HEAPWIRE_JEMALLOC="00$id,$address,je_,JE_MALLOC_CONF,scan"
own_up "$WORK/stripped"
expect "another build-id" "" "$(listed je_mallctl mallctl)"
host_down
HEAPWIRE_JEMALLOC="-00${code#??},$address,je_,JE_MALLOC_CONF,scan"
own_up "$WORK/stripped"
expect "other code" "" "$(listed je_mallctl mallctl)"
host_down

# By name.
HEAPWIRE_JEMALLOC="$id,$address,je_,JE_MALLOC_CONF,scan"
for name in mallctl libjemalloc.so.2 "$JEMALLOC"; do
    export HEAPWIRE_ALLOCATOR="$name"
    own_up "$WORK/stripped"
    expect "allocator = $name" mallctl "$(agent_field mallctl)"
    host_down
done
for name in je_mallctl stripped "$WORK/stripped"; do
    HEAPWIRE_ALLOCATOR=$name
    own_up "$WORK/stripped"
    serves_own "allocator = $name"
    host_down
done
HEAPWIRE_ALLOCATOR=nonsense
own_up "$WORK/stripped"
expect "none of that name" \
    "7 allocator = nonsense names none of its jemallocs: je_mallctl in \
stripped, mallctl in libjemalloc.so.2" \
    "$(agent_field allocator) $(agent_field note)"
host_down
unset HEAPWIRE_ALLOCATOR HEAPWIRE_JEMALLOC JE_MALLOC_CONF
forker=$WORK/forker

# Loaded while the program runs: exported, hidden, and not to be found.
cat >"$WORK/plugin.c" <<'END'
#include <string.h>
void *je_malloc(unsigned long);
void *plugin_hold(unsigned long);
void *plugin_hold(unsigned long size)
{
    return memset(je_malloc(size), 1, size);
}
END
cat >"$WORK/loader.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *(*hold)(unsigned long), *library;
    char line[1024];

    (void)argc, (void)argv;
    puts("descriptors=");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) && line[0] == '/') {
        *__builtin_strchr(line, '\n') = 0;
        library = dlopen(line, RTLD_NOW | RTLD_LOCAL);
        hold = (void *(*)(unsigned long))dlsym(library, "plugin_hold");
        hold(32 << 20);
        puts("held");
        fflush(stdout);
    }
    return 0;
}
END
echo '{ global: plugin_hold; local: *; };' >"$WORK/plugin.map"
cc -o "$WORK/loader" "$WORK/loader.c" -ldl &&
    cc -shared -fPIC -o "$WORK/open.so" "$WORK/plugin.c" -Wl,--whole-archive \
        "$WORK/je.a" -Wl,--no-whole-archive -lm &&
    cc -shared -fPIC -Wl,--build-id=sha1 -o "$WORK/shut.so" "$WORK/plugin.c" \
        -Wl,--whole-archive "$WORK/je.a" -Wl,--no-whole-archive -lm \
        -Wl,--version-script="$WORK/plugin.map" && strip "$WORK/shut.so" ||
    fail "no plugins"
listed_object() { agent hello >/dev/null; agent allocators "$WORK/list" >/dev/null
    grep -q "^object=$1	" "$WORK/list"; }
load_plugin() {
    echo "$WORK/$plugin.so" >&9
    wait_for 60 file_has "$WORK/stdout" held || fail "$plugin: not held"
}
forker=$WORK/loader
variable=MALLOC_CONF # by its file, which objcopy left as it was
# Debian's is not built to be loaded late: its thread data wants such room.
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384
for plugin in open shut; do
    object=$plugin.so
    [ $plugin = open ] || own=mallctl # as its variable says, by the scan
    PRELOAD=
    host_up
    refuses 1 "before it is loaded"
    load_plugin
    wait_for 60 listed_object "$WORK/$plugin.so" || fail "$plugin: not noticed"
    serves_own "loaded later: $plugin"
    expect "found, $plugin" "$([ $plugin = open ] && echo exported || echo scan)" \
        "$(listed $own found)"
    agent_field note | grep -q "^only what $plugin.so allocates is seen" ||
        fail "$plugin: $(agent_field note)"
    host_down
    # Its threads besides: one note does not hide the other.
    CONF=prof:true,prof_active:true,prof_thread_active_init:false
    host_up
    load_plugin
    wait_for 60 listed_object "$WORK/$plugin.so" || fail "$plugin: not noticed"
    agent_field note | grep "^1 of 1 threads are not sampled: " |
        grep -q "; only what $plugin.so allocates is seen: .* another$" ||
        fail "$plugin, threads: $(agent_field note)"
    host_down
    CONF=prof:true,prof_active:false
    # What serves malloc stays the database's.
    PRELOAD=$JEMALLOC
    host_up
    load_plugin
    wait_for 60 listed_object "$WORK/$plugin.so" || fail "$plugin: not listed"
    expect "$plugin, beside the database's" "0 mallctl 0 1" \
        "$(agent_field allocator) $(agent_field mallctl) \
$(listed $own chosen) $(listed $own callable)"
    host_down
    # By name, once it is there.
    export HEAPWIRE_ALLOCATOR=$plugin.so
    host_up
    expect "$plugin, before" "7" "$(agent_field allocator)"
    load_plugin
    wait_for 60 listed_object "$WORK/$plugin.so" || fail "$plugin: not listed"
    serves_own "$plugin, by name"
    host_down
    unset HEAPWIRE_ALLOCATOR
done
object=
unset GLIBC_TUNABLES
forker=$WORK/forker

# told TEXT: one line has it, the host runs, no agent serves
told() {
    host_up
    wait_for 60 file_has "$WORK/stderr" "^heapwire: .*$1" ||
        fail "not told: $1: $(cat "$WORK/stderr")"
    expect "lines, $1" 1 "$(wc -l <"$WORK/stderr")"
    CONNECT_MS=0 agent hello >/dev/null
    expect "served, $1" 3 $?
    host_down
}
PRELOAD=$JEMALLOC
good=$STATE
STATE=$WORK/none
told "No such file"
mkdir "$WORK/open"
chmod 777 "$WORK/open"
STATE=$WORK/open
told "not private"
ln -s "$good" "$WORK/link"
STATE=$WORK/link
told "Not a directory"
STATE=$WORK/lockdir
mkdir -m 700 "$STATE"
mkdir "$STATE/agent.lock"
told "Is a directory"
if [ "$(id -u)" -eq 0 ]; then
    # Unwritable, for a host that is not root.
    STATE=$WORK/unwritable
    mkdir -m 700 "$STATE"
    chmod 755 "$WORK" "$STATE" "$forker"
    cp "$BUILD/lib/libheapwire.so" "$WORK/"
    : >"$WORK/stderr" # what the one before said
    HEAPWIRE_EXE=$forker HEAPWIRE_STATE_DIR=$STATE \
        LD_PRELOAD=$WORK/libheapwire.so setpriv --reuid=nobody --clear-groups \
        "$forker" closeall <"$WORK/stdin" >"$WORK/stdout" 2>"$WORK/stderr" &
    host=$!
    exec 9>"$WORK/stdin"
    wait_for 60 file_has "$WORK/stderr" "Permission denied" || fail "not told"
    host_down
fi
exit 0
