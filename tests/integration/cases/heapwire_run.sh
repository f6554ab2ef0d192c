#!/bin/sh
# heapwire-run with the real heapwired and real databases; what heapwired does
# only when it is broken is done by a stand-in, at the end.
. tests/integration/lib/agent.inc
run=$BUILD/bin/heapwire-run
start="$run --listen none --state-dir $STATE"
# What is said besides where heapwire is to be found, and, on a busy machine,
# that its search took long.
slow='^heapwire-run: looking for jemalloc in '
places="^heapwire-run: socket \\|$slow"
lines() { grep -v "$places" "$1" | grep -c '^heapwire'; }
heapwired_of() { pgrep -P "$1" -x heapwired; }
parent() { ps -o ppid= -p "$1" | tr -d ' '; }

sock=$WORK/redis.sock
conf="--port 0 --unixsocket $sock --save --dir $WORK"
cli() { redis-cli -s "$sock" "$@"; }
redis_up() { cli ping >/dev/null 2>&1; }
serving() { agent_field pid | grep -q .; }
sql() { mariadb --no-defaults -S "$STATE/mysql.sock" -u root -N -B "$@"; }
profiling() {
    sql -e "ADMIN EXECUTE ON 10001 \
        'System.print(HeapProf.getInstance().has_enable())'"
}

# A real database: the agent in it, heapwired beside it, with the same options.
MALLOC_CONF=lg_prof_sample:16 TEST_MARK=7 \
    $start --node-id 10001 -- redis-server $conf \
    --enable-debug-command yes >"$WORK/log" 2>&1 &
runner=$!
started $runner
wait_for 60 redis_up || fail "redis does not start: $(cat "$WORK/log")"
wait_for 60 heapwired_of $runner || fail "no heapwired" # not executed yet
heapwired=$(heapwired_of $runner)
expect "heapwired's options" \
    "--node-id 10001 --listen none --state-dir $STATE" \
    "$(tr '\0' ' ' <"/proc/$heapwired/cmdline" | cut -d' ' -f2- | sed 's/ $//')"
tr '\0' '\n' <"/proc/$heapwired/environ" >"$WORK/environ"
grep -qE '^(LD_PRELOAD|MALLOC_CONF|HEAPWIRE_EXE)=' "$WORK/environ" &&
    fail "heapwired has the database's environment"
grep -q '^TEST_MARK=7' "$WORK/environ" || fail "heapwired has no environment"
alone() { ! ls -l "/proc/$heapwired/fd" | grep -q "$WORK/log\$"; }
wait_for 60 alone || fail "heapwired has the database's streams"
expect "heapwired's session" "$heapwired" \
    "$(ps -o sid= -p "$heapwired" | tr -d ' ')"
redis=$(agent_field pid)
expect "parent of redis" "$runner" "$(parent "$redis")"
expect "profiling, the user's rate" "1 0 16" "$(agent_field opt_prof) \
$(agent_field active) $(agent_field lg_sample)"
expect "process group" "$redis" "$(ps -o pgid= -p "$redis" | tr -d ' ')"
answers() { [ "$(profiling 2>/dev/null)" = "$1" ]; }
wait_for 60 answers false || fail "no answer through heapwired: $(profiling 2>&1)"

expect "where it is" "heapwire-run: socket $STATE/mysql.sock, log \
$STATE/heapwired.log" "$(grep '^heapwire' "$WORK/log" | grep -v "$slow")"

# A heapwired that is killed comes back, each time after twice the pause; how
# else it may end is in companion.sh.
for pause in 1 2 4; do
    back() { heapwired=$(heapwired_of $runner) && profiling >/dev/null 2>&1; }
    wait_for 60 back || fail "heapwired is not back before $pause s"
    kill -KILL "$heapwired"
    wait_for 60 file_has "$WORK/log" "by signal 9; .* again in $pause s" ||
        fail "no word: $(grep '^heapwire' "$WORK/log")"
done
expect "lines: $(grep '^heapwire' "$WORK/log")" 3 "$(lines "$WORK/log")"
redis_up || fail "redis did not survive"

# Signals reach the database; its status is ours.
kill -TERM $runner
wait $runner
expect "redis after SIGTERM" 0 $?
gone "$redis" || fail "redis lives on"

# The environment.  Debian's redis is linked with jemalloc: it gets no other.
preloads() { LD_PRELOAD=$1 $start $2 -- env | field LD_PRELOAD; }
ours=$BUILD/lib/libheapwire.so
redis_exe="--exe $(command -v redis-server)"
expect "for redis" "$ours" "$(preloads "" "$redis_exe")"
expect "for others" "$BUILD/lib/libheapwire-recorder.so:$ours" \
    "$(preloads "" "")"
start="$start --profiling-source jemalloc"
expect "for others, of jemalloc" "$ours:$JEMALLOC" "$(preloads "" "")"
expect "the user's first" "libm.so.6:$ours:$JEMALLOC" "$(preloads libm.so.6 "")"
expect "the user's jemalloc" "$JEMALLOC:$ours" "$(preloads "$JEMALLOC" "")"
expect "--jemalloc no" "$ours" "$(preloads "" "--jemalloc no")"
expect "--jemalloc PATH" "$ours:$JEMALLOC" \
    "$(preloads "" "$redis_exe --jemalloc $JEMALLOC")"
ready=prof:true,prof_active:false,prof_stats:true,prof_sys_thread_name:true
MALLOC_CONF=narenas:1 JE_MALLOC_CONF=narenas:2 $start -- env >"$WORK/environ"
expect "options of jemalloc, of this one" "$ready,narenas:1 narenas:2" \
    "$(field MALLOC_CONF <"$WORK/environ") $(field JE_MALLOC_CONF \
        <"$WORK/environ")"
expect "what the agent gets" "$ready, MALLOC_CONF exported" \
    "$(field HEAPWIRE_PROFILING <"$WORK/environ"), $(field HEAPWIRE_JEMALLOC \
        <"$WORK/environ" | cut -d, -f4,5 | tr , ' ')"
# All that an agent may get, by another heapwire-run further up.
ours_of() { sed -n 's/^\(HEAPWIRE_[A-Z_]*\)=.*/\1/p' | sort | tr '\n' ' '; }
told=$(ours_of <"$WORK/environ")
names=$(sed -n 's/^#define AGENT_ENV_.*"\(HEAPWIRE_[A-Z_]*\)".*/\1=nonsense/p' \
    plugin/agent/common/agent_protocol.h)
expect "it gets it beside others, too" "$told" \
    "$(env $names $start -- env | ours_of)"
env $names $start -- env | grep '^HEAPWIRE_.*nonsense' &&
    fail "what another agent gets"
# Filled up to the last byte that the kernel takes, where there is no room for
# ours: it runs nevertheless.
cat >"$WORK/full.py" <<'END'
import subprocess, sys

def run(size):
    env = {"A%02d" % i: "x" * min(100000, size - i * 100000)
           for i in range((size + 99999) // 100000)}
    try:
        return subprocess.run(sys.argv[1:], env=env, capture_output=True)
    except OSError:
        return None

low, high = 0, 8 << 20
while high - low > 1:
    middle = (low + high) // 2
    low, high = (middle, high) if run(middle) else (low, middle)
done = run(low)
print(done.returncode, b"runs without heapwire" in done.stderr)
END
expect "a full environment" "0 True" \
    "$(python3 "$WORK/full.py" $start -- /bin/true)"
MALLOC_CONF=prof_active:true $start -- env >"$WORK/environ"
expect "the user's word" \
    "prof:true,prof_stats:true,prof_sys_thread_name:true,prof_active:true" \
    "$(field MALLOC_CONF <"$WORK/environ")"
# A program's own jemalloc: nothing beside it, and its own variable alone.  A
# static one is left alone: prof:true would end the real one.
hosts=$BUILD/tests/unit/locate
host() { $start -- "$hosts/$1" 2>"$WORK/err" | sed -n 's/^<jemalloc>: //p'; }
expect "in a stripped program" "prof:true,prof_active:false" \
    "$(host host_je.stripped)"
expect "the program's word" "prof:true" "$(host host_any.stripped)"
expect "static" "" "$(host host_static.stripped)"
file_has "$WORK/err" "is static: .* heapwire_start()" || fail "$(cat "$WORK/err")"
MALLOC_CONF=prof:true "$hosts/host_real_static" >"$WORK/out" 2>&1
[ $? -eq 134 ] || echo "skipped: a static jemalloc bears prof:true here"
$start -- "$hosts/host_real_static" >"$WORK/out" 2>"$WORK/err" ||
    fail "a static jemalloc: $?, $(cat "$WORK/err")"
$start --explain -- "$hosts/host_je.stripped" >"$WORK/out"
expect "preloaded" "LD_PRELOAD  $ours" "$(grep ^LD_PRELOAD "$WORK/out")"
grep -q "its own): prefix je, can profile" "$WORK/out" &&
    grep -q "mallctl .* (scan)" "$WORK/out" || fail "$(cat "$WORK/out")"
$start -- "$hosts/host_cloned.stripped" 2>"$WORK/err" >"$WORK/out"
file_has "$WORK/err" "has a jemalloc of its own (prefix je_) whose mallctl was \
not found: .*; link it with -rdynamic, install its debug file, or set mallctl = " ||
    fail "$(cat "$WORK/err")"
$start --mallctl /no/such:main -- true 2>"$WORK/err"
file_has "$WORK/err" "no/such.*; the setting mallctl is ignored" ||
    fail "$(cat "$WORK/err")"
# Of an address that is none, the program is told nothing: it was called there.
real=0x$(nm -D "$JEMALLOC" | sed -n 's/ T mallctl$//p')
stats=0x$(nm -D "$JEMALLOC" | sed -n 's/ T malloc_stats_print$//p')
for wrong in "$((real + 1)) no function starts there" \
    "$((stats)) the function there does not take five arguments"; do
    $start --mallctl "$JEMALLOC:${wrong%% *}" -- redis-server --port 0 \
        >"$WORK/out" 2>"$WORK/err"
    expect "$wrong" "1 1" "$? $(grep -c "has no mallctl at .*${wrong#* }.*; the \
setting mallctl is ignored" "$WORK/err")"
done
$start --mallctl "$JEMALLOC:$real" -- redis-server --port 0 >"$WORK/out" \
    2>"$WORK/err"
expect "a right address" "1 0" "$? $(grep -c ignored "$WORK/err")"
# One that is loaded later, by its path: no other is preloaded beside it.
$start --allocator "$hosts/libhost_library.so" --explain -- true >"$WORK/out"
expect "none is preloaded" "LD_PRELOAD  $ours" "$(grep ^LD_PRELOAD "$WORK/out")"
grep -q "libhost_library.so (named by a setting): .*can profile" "$WORK/out" &&
    grep -q "JE_MALLOC_CONF=prof:true" "$WORK/out" || fail "$(cat "$WORK/out")"
expect "by its name" "$ours" "$($start --allocator libhost_library.so -- env |
    field LD_PRELOAD)"
expect "the preloaded by its name" "$ours:$JEMALLOC" \
    "$($start --allocator "$(basename "$JEMALLOC")" -- env | field LD_PRELOAD)"
for path in /no/such "$(command -v env)"; do
    $start --allocator "$path" -- true 2>"$WORK/err" || fail "--allocator $path"
    file_has "$WORK/err" "$path.*; it is looked for only in the database" ||
        fail "$(cat "$WORK/err")"
done
$start --explain --jemalloc /etc/passwd -- true 2>"$WORK/err" >"$WORK/out"
file_has "$WORK/err" "/etc/passwd has no jemalloc" || fail "$(cat "$WORK/err")"
# --explain starts nothing.
rm -rf "$WORK/nowhere"
"$run" --listen none --state-dir "$WORK/nowhere" --explain -- redis-server \
    >"$WORK/out" 2>"$WORK/err"
expect "--explain" "0 " "$? $(cat "$WORK/err")"
[ -e "$WORK/nowhere" ] && fail "--explain made the state directory"
grep -q "^jemalloc .*libjemalloc.so.2 (linked): .*can profile" "$WORK/out" &&
    grep -q "mallctl .*0x.* (exported)" "$WORK/out" &&
    grep -q "MALLOC_CONF=$ready" "$WORK/out" || fail "$(cat "$WORK/out")"

$start --profiling on -- env >"$WORK/environ"
expect "profiling = on" "$(echo "$ready" | sed s/false/true/)" \
    "$(field MALLOC_CONF <"$WORK/environ")"
$start --profiling off -- env >"$WORK/environ"
expect "profiling = off" "$ours" "$(grep -E '(MALLOC_CONF|LD_PRELOAD)=' \
    "$WORK/environ" | cut -d= -f2)"

# Statuses, streams, arguments.
$start -- sh -c 'exit 7'
expect "status" 7 $?
$start -- sh -c 'kill -KILL $$'
expect "killed" 137 $?
expect "streams" "in out a b" "$(echo in |
    $start -- sh -c 'cat; echo out "$1"' x 'a b' 2>"$WORK/err" |
    xargs)"
expect "stderr" "" "$(grep -v "$places" "$WORK/err")"
"$run" -- no-such-command 2>"$WORK/err"
expect "not found" "127 1" "$? $(lines "$WORK/err")"
"$run" -- /etc/passwd 2>"$WORK/err"
expect "not runnable" "126 1" "$? $(lines "$WORK/err")"
"$run" --bogus -- true 2>"$WORK/err"
expect "usage" 64 $?
"$run" 2>"$WORK/err"
expect "no command" 64 $?
got=$("$run" --allocator --explain -- true 2>&1)
expect "a forgotten value" \
    "64 heapwire-run: --allocator wants auto|NAME, not '--explain'" "$? $got"
"$run" --help | grep -q -- --state-dir || fail "help"
pgrep -f "^$BUILD/bin/heapwired .*$STATE" && fail "heapwired outlives all"

# A wrong configuration is refused before anything starts.
touch "$WORK/untouched"
refused() { # refused TEXT OPTION...
    text=$1
    shift
    "$run" --state-dir "$STATE" "$@" -- rm "$WORK/untouched" 2>"$WORK/err"
    expect "status, $text" 78 $?
    grep -q -- "$text" "$WORK/err" || fail "$text: $(cat "$WORK/err")"
    [ -e "$WORK/untouched" ] || fail "started all the same: $text"
}
refused "ADDRESS:PORT" --listen 10.0.0.1
refused "tls_key must be given" --tls-cert /no/such
refused "no/such: cannot be opened" --tls-cert /no/such --tls-key /no/such
refused "yes or no" --require-tls perhaps
refused "no-such-user" --user no-such-user
refused "no file" --jemalloc /no/such
refused "no/such" --config /no/such
mkdir -m 755 "$WORK/open"
refused "open to others" --state-dir "$WORK/open"
expect "mode of a foreign directory" 755 "$(stat -c %a "$WORK/open")"
ln -s "$STATE" "$WORK/link"
refused "not a directory" --state-dir "$WORK/link"
mkdir -m 777 "$WORK/shared"
chmod 777 "$WORK/shared"
refused "others can write" --state-dir "$WORK/shared/state"
printf '#!/bin/sh\nrm "%s"\n' "$WORK/untouched" >"$WORK/script"
chmod +x "$WORK/script"
$start -- "$WORK/script" 2>"$WORK/err"
expect "a script" "78 1" "$? $(grep -c -- --exe "$WORK/err")"
[ -e "$WORK/untouched" ] || fail "the script was started"

# Whoever has made the usual directory first keeps nobody from starting: another
# one is taken, said, and found again.  One that was asked for is refused.
other=$((40000 + $$ % 20000))
usual=/tmp/heapwire-$other
as_other() { # as_other ENVIRONMENT OPTION...: its state directory; $WORK/err
    runtime=$1
    shift
    env $runtime setpriv --reuid=$other --regid=$other --clear-groups \
        "$theirs" --listen none "$@" -- env 2>"$WORK/err" |
        field HEAPWIRE_STATE_DIR
}
if [ "$(id -u)" -eq 0 ]; then
    chmod 711 "$WORK"
    theirs=$(readable "$BUILD" "$WORK/build")/bin/heapwire-run
    expect "free" "$usual/10001" "$(as_other "")"
    expect "said: $(cat "$WORK/err")" 0 "$(lines "$WORK/err")"
    expect "its own" "$usual/10001" "$(as_other "")"
    rm -rf "$usual"
    elsewhere=
    for how in "mkdir $usual" "mkdir -m 777 $usual" "touch $usual" \
        "ln -s $WORK $usual" "ln -s /no/such $usual"; do
        eval "$how"
        mkdir -p "$usual-0000000000" # a bait that is not its own
        dir=$(as_other "")
        case $dir in
        "$usual"-??????????/10001) ;;
        *) fail "$how: $dir, $(cat "$WORK/err")" ;;
        esac
        [ "$dir" != "$usual-0000000000/10001" ] || fail "$how: the bait"
        [ "$dir" = "${elsewhere:-$dir}" ] || fail "$how: not found again: $dir"
        elsewhere=$dir
        expect "$how: mode, owner" "700 $other" "$(stat -c '%a %u' "$dir")"
        file_has "$WORK/err" "$usual/10001 is not safe: .* is $dir (" ||
            fail "$how: $(cat "$WORK/err")"
        as_other "" --state-dir "$usual/10001" | grep . && fail "$how: explicit"
        [ "$how" = "ln -s $WORK $usual" ] ||
            file_has "$WORK/err" "nothing was started\|cannot " ||
            fail "$how: explicit: $(cat "$WORK/err")"
        rm -rf "$usual"
    done
    expect "the usual one again" "$usual/10001" "$(as_other "")"
    mkdir "$WORK/runtime"
    expect "another user's XDG_RUNTIME_DIR" "$usual/10001" \
        "$(as_other "XDG_RUNTIME_DIR=$WORK/runtime")"
    file_has "$WORK/err" "XDG_RUNTIME_DIR (.*) is no directory of uid $other" ||
        fail "$(cat "$WORK/err")"
    rm -rf "$usual" "$usual"-*
else
    echo "skipped: the usual state directory of other users (needs root)"
fi

# The configuration file says it as well.
printf '[node]\nstate_dir = %s\nlisten = none\nprofiling_source = %s\n' \
    "$WORK/filed" jemalloc >"$WORK/ini"
echo 'jemalloc = no' >>"$WORK/ini"
chmod 600 "$WORK/ini"
expect "from the file" "$WORK/filed $ours" "$("$run" --config "$WORK/ini" -- env |
    grep -E '^(HEAPWIRE_STATE_DIR|LD_PRELOAD)=' | sort | cut -d= -f2 | xargs)"

# What is ours and fails costs one line; the database runs.
ran() { # ran TEXT OPTION...: with one line that has TEXT
    text=$1
    shift
    "$run" --listen none "$@" -- sh -c 'exit 5' 2>"$WORK/err"
    expect "status, $text" 5 $?
    expect "lines, $text: $(cat "$WORK/err")" 1 "$(lines "$WORK/err")"
    grep -q -- "$text" "$WORK/err" || fail "$text: $(cat "$WORK/err")"
}
ran "cannot create" --state-dir /proc/nowhere/state

# The state directory: made private, whatever the umask.
(umask 0; $start --state-dir "$WORK/a/b/state" -- true) || fail "a/b/state"
(umask 077; $start --state-dir "$WORK/c/d/state" -- true) || fail "c/d/state"
expect "modes" "700 700" \
    "$(stat -c %a "$WORK/a/b/state" "$WORK/c/d/state" | xargs)"

# Profiling from the start; and none, which says what to set.
for profiling in on off; do
    $start --profiling $profiling -- redis-server $conf >"$WORK/log" 2>&1 &
    runner=$!
    started $runner
    wait_for 60 serving || fail "profiling $profiling: $(cat "$WORK/log")"
    state() { sql -e "ADMIN EXECUTE ON 10001 \
        'System.print(HeapProf.getInstance().state())'" >"$WORK/out" 2>&1; }
    told() { state && file_has "$WORK/out" "$1"; }
    if [ $profiling = on ]; then
        wait_for 60 told "state: active" || fail "on: $(cat "$WORK/out")"
    else
        wait_for 60 told "reason: .* has profiling = off; set profiling = prep" ||
            fail "off: $(cat "$WORK/out")"
        expect "statistics without profiling" 1 "$(sql -e \
            'SELECT count(*) > 10 FROM heapwire.malloc_stats')"
        sql -e "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" \
            >"$WORK/out" 2>&1 && fail "off, but enabled"
        file_has "$WORK/out" "has profiling = off; set profiling = prepared (" ||
            fail "off: $(cat "$WORK/out")"
    fi
    kill -TERM $runner
    wait $runner
done

# Behind a wrapper: only the named executable serves, not the shells.
cat >"$WORK/wrapper" <<END
#!/bin/sh
/bin/sh -c 'sleep 0.2; true' && /bin/true
redis-server --version >/dev/null
[ "\$1" = stay ] || exec redis-server $conf
redis-server $conf
exit \$?
END
chmod +x "$WORK/wrapper"
for how in exec stay; do
    $start --exe "$(command -v redis-server)" -- \
        "$WORK/wrapper" $how >"$WORK/log" 2>&1 &
    runner=$!
    started $runner
    wait_for 60 redis_up || fail "wrapper: $(cat "$WORK/log")"
    wait_for 60 serving || fail "wrapper, $how: no agent"
    expect "the agent that serves" "$(command -v redis-server)" "$(agent_field exe)"
    for pid in $(pgrep -P "$runner"); do
        [ "$(realpath "/proc/$pid/exe")" = "$REDIS" ] ||
            expect "agents in $pid" 0 "$(agent_threads "$pid")"
    done
    cli shutdown nosave 2>/dev/null
    wait $runner
    expect "wrapper, $how: status" 0 $?
done

# daemonize yes: the survivor is the database from then on.
$start -- redis-server $conf --daemonize yes \
    --pidfile "$WORK/pid" >"$WORK/log" 2>&1 &
runner=$!
started $runner
wait_for 60 redis_up || fail "daemon: $(cat "$WORK/log")"
wait_for 60 test -s "$WORK/pid" || fail "no pid file"
redis=$(cat "$WORK/pid")
serving() { [ "$(agent_field pid)" = "$redis" ]; }
wait_for 60 serving || fail "the daemon has no agent"
sleep 1.2 # past SETTLE_MS of supervise.c
alive $runner || fail "heapwire-run left the daemon alone"
kill -TERM $runner
wait $runner
expect "status of the daemon" 0 $?
gone "$redis" || fail "the daemon lives on"

# A database killed while daemonised: the status says so.  On a slow machine it
# lives for ten seconds.
$start --linger 0 -- redis-server $conf --daemonize yes \
    --pidfile "$WORK/pid" >"$WORK/log" 2>&1 &
runner=$!
started $runner
wait_for 60 redis_up || fail "daemon: $(cat "$WORK/log")"
redis=$(cat "$WORK/pid")
adopted() { # its parent is reaped, and heapwire-run waits again
    [ "$(parent "$redis")" = $runner ] &&
        ! ps -o stat= --ppid $runner | grep -q '^Z' &&
        [ "$(ps -o stat= -p $runner | cut -c 1)" = S ]
}
wait_for 60 adopted || fail "the daemon is not adopted"
sleep 1.2 # past SETTLE_MS of supervise.c
kill -KILL "$redis"
wait $runner
expect "status of a killed daemon" 137 $?

# A BGSAVE child that outlives SHUTDOWN for a moment is not the database.
$start -- redis-server $conf \
    --enable-debug-command yes >"$WORK/log" 2>&1 &
runner=$!
started $runner
wait_for 60 redis_up || fail "no redis"
cli debug populate 1000 >/dev/null
cli config set rdb-key-save-delay 1000 >/dev/null
cli bgsave >/dev/null
cli shutdown nosave 2>/dev/null
wait $runner
expect "status after SHUTDOWN beside BGSAVE" 0 $?

# Two for one node: both databases run, the second one without heapwire.
$start -- redis-server $conf >"$WORK/log" 2>&1 &
runner=$!
started $runner
wait_for 60 redis_up || fail "no redis"
wait_for 60 profiling || fail "no heapwired: $(cat "$WORK/log")"
first=$(agent_field pid)
$start -- sh -c "exit 5" 2>"$WORK/err"
expect "the second" "5 1" "$? $(lines "$WORK/err")"
grep -q "served by another heapwire-run" "$WORK/err" || fail "$(cat "$WORK/err")"
expect "the agent that serves" "$first" "$(agent_field pid)"
kill $runner
wait $runner

# A build that others cannot read, as below /root.
if [ "$(id -u)" -eq 0 ]; then
    mkdir -m 711 "$WORK/closed"
    mkdir "$WORK/closed/bin" "$WORK/closed/lib"
    mkdir -m 700 "$WORK/closed/state"
    cp "$BUILD/bin/heapwire-run" "$BUILD/bin/heapwired" "$WORK/closed/bin"
    cp "$BUILD/lib/libheapwire.so" "$WORK/closed/lib"
    for mode in 711 700; do
        chmod $mode "$WORK/closed"
        "$WORK/closed/bin/heapwire-run" --listen none \
            --state-dir "$WORK/closed/state" -- setpriv --no-new-privs true \
            2>"$WORK/err"
        expect "closed, $mode" $((mode == 700)) "$(grep -c "^heapwire-run: \
$WORK/closed/lib/libheapwire.so cannot be read by other users: a database of one " \
            "$WORK/err")"
    done
fi

# With a terminal: Ctrl-C and Ctrl-Z reach the database, our shell goes on.
if python3 -c 'import os; os.openpty()' 2>/dev/null; then
    python3 tests/integration/programs/terminal.py "$run" --listen none \
        --state-dir "$STATE" || fail "terminal"
else
    echo "skipped: with a terminal (there is no /dev/pts here)"
fi

# As PID 1: orphans are reaped, signals arrive, the status comes out.
if ! why=$(unshare --pid --fork --mount-proc true 2>&1); then
    echo "skipped: as PID 1 (no pid namespace can be made here: $why)"
else
    mkdir -m 700 "$WORK/one"
    unshare --pid --fork --mount-proc --kill-child "$run" \
        --listen none --state-dir "$WORK/one" -- redis-server $conf >"$WORK/log" 2>&1 &
    started $!
    wait_for 60 redis_up || fail "as PID 1: $(cat "$WORK/log")"
    outer=$(pgrep -f "^$run --listen none --state-dir $WORK/one")
    STATE=$WORK/one
    agent_up() {
        [ -n "$(agent_field pid)" ]
    }
    wait_for 60 agent_up || fail "no agent as PID 1"
    expect "pid of redis in there" "yes" \
        "$([ "$(agent_field pid)" -lt 100 ] && echo yes)"
    nsenter -t "$outer" -p -m sh -c '(sleep 0.1 &) ; exit 0'
    reaped() {
        ! nsenter -t "$outer" -p -m ps -eo stat=,comm= | grep -qE '^Z|sleep$'
    }
    wait_for 60 reaped || fail "a zombie"
    kill -TERM "$outer"
    wait $!
    expect "status as PID 1" 0 $?
fi

# A stand-in, for what only a broken heapwired does.
mkdir "$WORK/bin" "$WORK/lib"
cp "$BUILD/bin/heapwire-run" "$WORK/bin/"
cp "$BUILD/lib/libheapwire.so" "$WORK/lib/"
run=$WORK/bin/heapwire-run
ran "no heapwired" --state-dir "$STATE"
cat >"$WORK/bin/heapwired" <<END
#!/bin/sh
case " \$* " in
*" --check "*)
    [ -e "$WORK/broken" ] && kill -SEGV \$\$
    printf '%s\n' "state_dir=$STATE" "jemalloc=no"
    exit 0
    ;;
esac
echo started >>"$WORK/starts"
echo "heapwired: this is why" >&2
exit \$(cat "$WORK/status")
END
chmod +x "$WORK/bin/heapwired"
touch "$WORK/broken"
ran "check ended with status"
rm "$WORK/broken"
# heapwired reports a wrong configuration, and once one that serves already; both
# are tried again, for ever.
starts() { [ "$(wc -l <"$WORK/starts")" -ge "$1" ]; }
told() { ! [ "$1" = 78 ] || file_has "$WORK/err" "again in 4 s"; }
broken() { # broken STATUS LINES
    : >"$WORK/starts"
    echo "$1" >"$WORK/status"
    "$run" -- sleep 600 2>"$WORK/err" &
    runner=$!
    started $runner
    wait_for 60 starts 3 || fail "status $1: tried $(cat "$WORK/starts")"
    wait_for 60 told "$1" || fail "status $1: $(cat "$WORK/err")"
    kill $runner
    wait $runner
    expect "lines, status $1: $(cat "$WORK/err")" "$2" \
        "$(grep -v "$places" "$WORK/err" | sed '/again in 4 s/q' | sort |
            uniq -c | sed 's/^ *//' | tr '\n' '|')" # it goes on until it is killed
}
again="heapwire-run: heapwired ended with status 78; it is started again in"
broken 78 "1 $again 1 s|1 $again 2 s|1 $again 4 s|3 heapwired: this is why|"
broken 75 "1 heapwired: this is why|"
exit 0
