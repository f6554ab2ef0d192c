# agent_lib.sh - sourced by the tests of the agent and of heapwire-run.
#
# Gives a private directory $WORK, removed at the end, and ends what was
# started through `started`.  A test script that runs off its end has passed.

set -u
BUILD=${BUILD:-build/release}
BUILD=$(cd "$BUILD" && pwd) || exit 1
WORK=$(mktemp -d "${TMPDIR:-/tmp}/heapwire-test.XXXXXX") || exit 1
STATE=$WORK/state
mkdir -m 700 "$STATE"
CLIENT=$BUILD/bin/agent_client
REDIS=$(realpath "$(command -v redis-server)")
PIDS=

finish() {
    status=$?
    trap - EXIT INT TERM
    for pid in $PIDS; do
        kill -CONT "$pid" 2>/dev/null
        # heapwire-run ends what it has started
        kill -TERM "$pid" 2>/dev/null && eventually 5 gone "$pid"
        kill -KILL "$pid" 2>/dev/null
    done
    rm -rf "$WORK"
    exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

started() { PIDS="$PIDS $1"; }

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# expect WHAT WANTED GOT
expect() { [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"; }

# eventually SECONDS COMMAND...: true once COMMAND is
eventually() {
    tries=$(($1 * 20))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}

# field KEY, of key=value lines on stdin
field() { sed -n "s/^$1=//p"; }

# with_agent EXE COMMAND...: in the background, $! is its pid
with_agent() {
    exe=$1
    shift
    HEAPWIRE_EXE=$exe HEAPWIRE_STATE_DIR=$STATE \
        LD_PRELOAD=$BUILD/lib/libheapwire.so${PRELOAD:+:$PRELOAD} \
        MALLOC_CONF=${CONF-prof:true,prof_active:false} \
        exec "$@"
}

agent() { "$CLIENT" "$STATE" "$@"; }
agent_field() { agent hello | field "$1"; }

descriptors() { ls "/proc/$1/fd" | wc -l; }
# jemalloc's own come and go with its arenas, of which our thread uses one.
threads() { grep -Lx jemalloc_bg_thd /proc/"$1"/task/*/comm | wc -l; }
agent_threads() { grep -lx heapwire /proc/"$1"/task/*/comm 2>/dev/null | wc -l; }
alive() { ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null && kill -0 "$1" 2>/dev/null; }
gone() { ! alive "$1"; }
file_has() { grep -q "$2" "$1" 2>/dev/null; }

JEMALLOC=$(ls /usr/lib/*/libjemalloc.so.2 | head -n 1)
