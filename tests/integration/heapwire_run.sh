#!/bin/sh
# heapwire-run with a stand-in for heapwired, which does what $WORK/behave says.
. "$(dirname "$0")/agent_lib.sh"
mkdir "$WORK/bin" "$WORK/lib"
cp "$BUILD/bin/heapwire-run" "$WORK/bin/"
cp "$BUILD/lib/libheapwire.so" "$WORK/lib/"
run=$WORK/bin/heapwire-run
cat >"$WORK/bin/heapwired" <<END
#!/bin/sh
echo "\$*" >>"$WORK/calls"
state=$STATE user= exe= jemalloc=auto log= check=
while [ \$# -gt 0 ]; do
    case \$1 in
    --check) check=1 ;;
    --state-dir) state=\$2; shift ;;
    --user) user=\$2; shift ;;
    --exe) exe=\$2; shift ;;
    --jemalloc) jemalloc=\$2; shift ;;
    --log) log=\$2; shift ;;
    --listen) [ "\$2" = 10.0.0.1:1 ] && echo "heapwired: no TLS" >&2 && exit 78
        shift ;;
    esac
    shift
done
if [ "\$check" ]; then
    [ -e "$WORK/broken" ] && kill -SEGV \$\$
    printf '%s\n' "id=10001" "state_dir=\$state" "user=\$user" "exe=\$exe" \
        "jemalloc=\$jemalloc" "log=\$log"
    exit 0
fi
env >"$WORK/env"
fds=\$(ls -l /proc/\$\$/fd)
echo "\$fds" >"$WORK/fds"
echo \$\$ >>"$WORK/heapwired.pids"
[ -e "$WORK/behave" ] && . "$WORK/behave"
trap 'exit 0' TERM
while :; do sleep 0.1; done
END
chmod +x "$WORK/bin/heapwired"
heapwireds() { wc -l <"$WORK/heapwired.pids"; }
lines() { grep -c '^heapwire' "$1"; }

sock=$WORK/redis.sock
conf="--port 0 --unixsocket $sock --save --dir $WORK"
cli() { redis-cli -s "$sock" "$@"; }
redis_up() { cli ping >/dev/null 2>&1; }
serving() { agent_field pid | grep -q .; }

# A real database: the agent in it, heapwired beside it, with the same options.
PATH=$WORK/path:$PATH MALLOC_CONF=lg_prof_sample:16 TEST_MARK=7 \
    "$run" --node-id 10001 --state-dir "$STATE" -- \
    redis-server $conf --enable-debug-command yes >"$WORK/log" 2>&1 &
runner=$!
started $runner
eventually 10 redis_up || fail "redis does not start: $(cat "$WORK/log")"
expect "heapwired's options" "--node-id 10001 --state-dir $STATE" \
    "$(tail -n 1 "$WORK/calls")"
grep -qE '^(LD_PRELOAD|MALLOC_CONF|HEAPWIRE_EXE)=' "$WORK/env" &&
    fail "heapwired has the database's environment"
grep -q '^TEST_MARK=7' "$WORK/env" || fail "heapwired has no environment"
grep -E ' (0|1) -> ' "$WORK/fds" | grep -v /dev/null &&
    fail "heapwired has the database's streams"
redis=$(agent_field pid)
expect "parent of redis" "$runner" "$(ps -o ppid= -p "$redis" | tr -d ' ')"
expect "profiling, the user's rate" "1 0 16" "$(agent_field opt_prof) \
$(agent_field active) $(agent_field lg_sample)"
expect "process group" "$redis" "$(ps -o pgid= -p "$redis" | tr -d ' ')"

# A heapwired that is killed comes back, three times, then stays away.
for n in 1 2 3 4; do
    more() { [ "$(heapwireds)" -eq "$n" ]; }
    eventually 5 more || fail "heapwired is not back for the ${n}th time"
    kill -KILL "$(tail -n 1 "$WORK/heapwired.pids")"
done
eventually 5 file_has "$WORK/log" "too often" || fail "no last word"
sleep 1.5
expect "starts of heapwired" 4 "$(heapwireds)"
expect "lines" 4 "$(lines "$WORK/log")"
redis_up || fail "redis did not survive"

# Signals reach the database; its status is ours.
kill -TERM $runner
wait $runner
expect "redis after SIGTERM" 0 $?
gone "$redis" || fail "redis lives on"
rm -f "$WORK/heapwired.pids"

# The environment.  Debian's redis is linked with jemalloc: it gets no other.
preloads() { LD_PRELOAD=$1 "$run" --state-dir "$STATE" $2 -- env | field LD_PRELOAD; }
ours=$WORK/lib/libheapwire.so
redis_exe="--exe $(command -v redis-server)"
expect "for redis" "$ours" "$(preloads "" "$redis_exe")"
expect "for others" "$ours:$JEMALLOC" "$(preloads "" "")"
expect "the user's first" "libm.so.6:$ours:$JEMALLOC" "$(preloads libm.so.6 "")"
expect "the user's jemalloc" "$JEMALLOC:$ours" "$(preloads "$JEMALLOC" "")"
expect "--jemalloc no" "$ours" "$(preloads "" "--jemalloc no")"
expect "--jemalloc PATH" "$ours:$JEMALLOC" \
    "$(preloads "" "$redis_exe --jemalloc $JEMALLOC")"
MALLOC_CONF=prof:false "$run" --state-dir "$STATE" -- env >"$WORK/environ"
expect "options of jemalloc" "prof:true,prof_active:false,prof:false \
prof:true,prof_active:false prof:true,prof_active:false" \
    "$(field MALLOC_CONF <"$WORK/environ") $(field JE_MALLOC_CONF \
        <"$WORK/environ") $(field _RJEM_MALLOC_CONF <"$WORK/environ")"

# Statuses, streams, arguments.
"$run" --state-dir "$STATE" -- sh -c 'exit 7'
expect "status" 7 $?
"$run" --state-dir "$STATE" -- sh -c 'kill -KILL $$'
expect "killed" 137 $?
expect "streams" "in out a b" "$(echo in |
    "$run" --state-dir "$STATE" -- sh -c 'cat; echo out "$1"' x 'a b' 2>"$WORK/err" |
    xargs)"
expect "stderr" "" "$(cat "$WORK/err")"
"$run" -- no-such-command 2>"$WORK/err"
expect "not found" "127 1" "$? $(lines "$WORK/err")"
"$run" -- /etc/passwd 2>"$WORK/err"
expect "not runnable" "126 1" "$? $(lines "$WORK/err")"
"$run" --bogus -- true 2>"$WORK/err"
expect "usage" 64 $?
"$run" 2>"$WORK/err"
expect "no command" 64 $?
"$run" --help | grep -q -- --state-dir || fail "help"
for pid in $(cat "$WORK/heapwired.pids"); do
    gone "$pid" || fail "heapwired $pid outlives its database"
done

# A wrong configuration is refused before anything starts.
touch "$WORK/untouched"
"$run" --listen 10.0.0.1:1 -- rm "$WORK/untouched" 2>"$WORK/err"
expect "wrong configuration" "78 heapwired: no TLS" "$? $(cat "$WORK/err")"
"$run" --user no-such-user -- rm "$WORK/untouched" 2>"$WORK/err"
expect "no such user" 78 $?
printf '#!/bin/sh\nrm "%s"\n' "$WORK/untouched" >"$WORK/script"
chmod +x "$WORK/script"
"$run" -- "$WORK/script" 2>"$WORK/err"
expect "a script" "78 1" "$? $(grep -c -- --exe "$WORK/err")"
[ -e "$WORK/untouched" ] || fail "started all the same"

# What is ours and fails costs one line; the database runs.
ran() { # ran TEXT OPTION...: with one line that has TEXT
    text=$1
    shift
    "$run" "$@" -- sh -c 'exit 5' 2>"$WORK/err"
    expect "status, $text" 5 $?
    expect "lines, $text: $(cat "$WORK/err")" 1 "$(lines "$WORK/err")"
    grep -q "$text" "$WORK/err" || fail "$text: $(cat "$WORK/err")"
}
mkdir -m 755 "$WORK/open"
ran "open to others" --state-dir "$WORK/open"
expect "mode of a foreign directory" 755 "$(stat -c %a "$WORK/open")"
ln -s "$STATE" "$WORK/link"
ran "cannot create the state directory" --state-dir "$WORK/link"
touch "$WORK/file"
ran "cannot open the directory above" --state-dir "$WORK/file/state"
ran "cannot create" --state-dir /proc/nowhere/state
mkdir -m 777 "$WORK/shared"
ran "others can replace" --state-dir "$WORK/shared/state"
touch "$WORK/broken"
ran "check ended with status" --state-dir "$STATE"
rm "$WORK/broken"
echo 'echo "heapwired: port is in use" >&2; exit 75' >"$WORK/behave"
"$run" --state-dir "$STATE" -- sh -c 'sleep 1; exit 5' 2>"$WORK/err"
expect "port in use" "5 1" "$? $(lines "$WORK/err")"
grep -q "port is in use; trying again" "$WORK/err" || fail "$(cat "$WORK/err")"
echo 'exit 78' >"$WORK/behave"
: >"$WORK/heapwired.pids"
"$run" --state-dir "$STATE" -- sh -c 'sleep 2; exit 5' 2>"$WORK/err"
expect "status 78 is not tried again" "5 1 1" \
    "$? $(lines "$WORK/err") $(heapwireds)"
mv "$WORK/bin/heapwired" "$WORK/bin/away"
ran "no heapwired" --state-dir "$STATE"
mv "$WORK/bin/away" "$WORK/bin/heapwired"
rm "$WORK/behave"

# The state directory: made private, with its parents, whatever the umask.
(umask 0; "$run" --state-dir "$WORK/a/b/state" -- true) || fail "a/b/state"
(umask 077; "$run" --state-dir "$WORK/c/d/state" -- true) || fail "c/d/state"
expect "modes" "755 755 700 755 700" "$(stat -c %a "$WORK/a" "$WORK/a/b" \
    "$WORK/a/b/state" "$WORK/c/d" "$WORK/c/d/state" | xargs)"
if [ "$(id -u)" -eq 0 ]; then
    "$run" --user nobody --state-dir "$WORK/a/b/nobody" -- true || fail "--user"
    expect "owner" nobody "$(stat -c %U "$WORK/a/b/nobody")"
    "$run" --user nobody --state-dir "$WORK/a/b/nobody" -- true || fail "again"
    mkdir -m 700 "$WORK/private"
    ran "belongs to uid 0" --user nobody --state-dir "$WORK/private"
fi

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
    "$run" --state-dir "$STATE" --exe "$(command -v redis-server)" -- \
        "$WORK/wrapper" $how >"$WORK/log" 2>&1 &
    runner=$!
    started $runner
    eventually 10 redis_up || fail "wrapper: $(cat "$WORK/log")"
    eventually 5 serving || fail "wrapper, $how: no agent"
    expect "who serves" "$REDIS" "$(agent_field exe)"
    for pid in $(pgrep -P "$runner"); do
        [ "$(realpath "/proc/$pid/exe")" = "$REDIS" ] ||
            expect "agents in $pid" 0 "$(agent_threads "$pid")"
    done
    cli shutdown nosave 2>/dev/null
    wait $runner
    expect "wrapper, $how: status" 0 $?
done

# daemonize yes: the survivor is the database from then on.
"$run" --state-dir "$STATE" -- redis-server $conf --daemonize yes \
    --pidfile "$WORK/pid" >"$WORK/log" 2>&1 &
runner=$!
started $runner
eventually 10 redis_up || fail "daemon: $(cat "$WORK/log")"
eventually 5 test -s "$WORK/pid" || fail "no pid file"
redis=$(cat "$WORK/pid")
serving() { [ "$(agent_field pid)" = "$redis" ]; }
eventually 5 serving || fail "the daemon has no agent"
sleep 1.2
alive $runner || fail "heapwire-run left the daemon alone"
kill -TERM $runner
wait $runner
expect "status of the daemon" 0 $?
gone "$redis" || fail "the daemon lives on"

# A database killed while daemonised: the status says so.
"$run" --state-dir "$STATE" -- redis-server $conf --daemonize yes \
    --pidfile "$WORK/pid" >"$WORK/log" 2>&1 &
runner=$!
started $runner
eventually 10 redis_up || fail "daemon: $(cat "$WORK/log")"
sleep 1.2
kill -KILL "$(cat "$WORK/pid")"
wait $runner
expect "status of a killed daemon" 137 $?

# A BGSAVE child that outlives SHUTDOWN for a moment is not the database.
"$run" --state-dir "$STATE" -- redis-server $conf \
    --enable-debug-command yes >"$WORK/log" 2>&1 &
runner=$!
started $runner
eventually 10 redis_up || fail "no redis"
cli debug populate 1000 >/dev/null
cli config set rdb-key-save-delay 1000 >/dev/null
cli bgsave >/dev/null
cli shutdown nosave 2>/dev/null
wait $runner
expect "status after SHUTDOWN beside BGSAVE" 0 $?

# As PID 1: orphans are reaped, signals arrive, the status comes out.
if [ "$(id -u)" -eq 0 ]; then
    mkdir -m 700 "$WORK/one"
    unshare --pid --fork --mount-proc --kill-child "$run" \
        --state-dir "$WORK/one" -- redis-server $conf >"$WORK/log" 2>&1 &
    started $!
    eventually 10 redis_up || fail "as PID 1: $(cat "$WORK/log")"
    outer=$(pgrep -f "^$run --state-dir $WORK/one")
    STATE=$WORK/one
    expect "pid of redis in there" "yes" \
        "$([ "$(agent_field pid)" -lt 100 ] && echo yes)"
    nsenter -t "$outer" -p -m sh -c '(sleep 0.1 &) ; exit 0'
    sleep 0.5
    expect "zombies" "" \
        "$(nsenter -t "$outer" -p -m ps -eo stat=,comm= | grep '^Z')"
    kill -TERM "$outer"
    wait $!
    expect "status as PID 1" 0 $?
fi
exit 0
