#!/bin/sh
# start_watch.sh - databases that prof:true or a preload keeps from their main
# are started again without, once; so are those that a signal of their own ends
# before they have served, without anything of ours.
. tests/integration/lib/agent.inc
fault=$BUILD/bin/start_fault
start="$BUILD/bin/heapwire-run --profiling-source jemalloc \
    --listen none --state-dir $STATE"
places='^heapwire-run: socket '

# run OPTION... -- COMMAND...: its stdout, status, and what was said.
run() {
    # shellcheck disable=SC2086
    timeout 60 $start "$@" >"$WORK/out" 2>"$WORK/err"
    status=$?
    said=$(grep '^heapwire-run' "$WORK/err" | grep -v "$places" |
        sed 's/ (pid [0-9]*)//')
}
again() { # again WHAT HOW: it was started again, and that was said once
    expect "$1: status" 5 "$status"
    expect "$1: once, without" "main prof=0 jemalloc=0" "$(cat "$WORK/out")"
    expect "$1: said" "heapwire-run: $fault $2, with prof:true set and \
$JEMALLOC preloaded: it is started again without (--profiling off: never \
prof:true; --jemalloc no: never that preload)" "$said"
}
killed="was killed by signal 11 (SIGSEGV) before its main was reached"
late="did not reach its main in 1 s"

for when in prof preload; do
    run -- "$fault" $when 11 5
    again "$when, a fault" "$killed"
    run --start-timeout 1 -- "$fault" $when hang 5
    again "$when, a hang" "$late"
done

# A script that becomes the database.
printf '#!/bin/sh\necho prepared >>%s/prepared\nexec %s "$@"\n' "$WORK" \
    "$fault" >"$WORK/script"
chmod +x "$WORK/script"
run --exe "$fault" -- "$WORK/script" prof 11 5
again "a script" "$killed"
# Within that time the shell has to come to it, too.
run --start-timeout 3 --exe "$fault" -- "$WORK/script" preload hang 5
again "a script, a hang" "did not reach its main in 3 s"
expect "a script is run again" 4 "$(wc -l <"$WORK/prepared")"

# How they ended is kept, and says so.
expect "faults kept" 3 "$(grep -c 'signal=11 asked=0 restarted=1 ' "$STATE/deaths")"
expect "hangs kept" 3 "$(grep -c 'signal=9 asked=9 restarted=1 ' "$STATE/deaths")"
expect "ends kept" 6 "$(grep -c 'status=5 asked=0 ' "$STATE/deaths")"

# Only what is ours, and only once.
run --profiling off --jemalloc "$JEMALLOC" -- "$fault" preload 6 5
expect "preload alone" "5 heapwire-run: $fault was killed by signal 6 \
(SIGABRT) before its main was reached, with $JEMALLOC preloaded: it is started \
again without (--jemalloc no: never that preload)" "$status $said"
MALLOC_CONF=prof:true run -- "$fault" prof 11 5
expect "the user's own prof:true" "139  3" "$status $(cat "$WORK/out") \
$(echo "$said" | grep -c .)"
run -- "$fault" library 11 5
expect "the agent, before main" "5 main prof=0 jemalloc=0 heapwire-run: $fault \
$killed, with prof:true set and $JEMALLOC preloaded: it is started again without \
(--profiling off: never prof:true; --jemalloc no: never that preload)
heapwire-run: $fault was killed by signal 11 (SIGSEGV) before it served, with \
heapwire's agent in it, which may be why it did: it is started again, once, \
without any of that; heapwire knows nothing of it then
heapwire-run: $fault has not ended the same way without heapwire in it: \
heapwire may have been the cause" "$status $(cat "$WORK/out") $said"
run --profiling off --jemalloc no -- "$fault" never 11 5
expect "nothing of ours" "5 main prof=0 jemalloc=0 " \
    "$status $(cat "$WORK/out") $said"
run --start-timeout 0 -- "$fault" prof 11 5
expect "not watched" "139 " "$status $said"

# What has reached its main and served nobody is started again with nothing of
# ours, whatever the signal.
ours="heapwire's agent in it, prof:true set and $JEMALLOC preloaded, which \
may be why it did: it is started again, once, without any of that; heapwire \
knows nothing of it then (--profiling off: never prof:true; \
--jemalloc no: never that preload)"
without="has not ended the same way without heapwire in it: heapwire may \
have been the cause"
for signal in "6 (SIGABRT)" "11 (SIGSEGV)" "25 (SIGXFSZ)" "16 (SIGSTKFLT)"; do
    run -- "$fault" agent "${signal%% *}" 5
    expect "in main, $signal" "5 main prof=1 jemalloc=1
main prof=0 jemalloc=0 heapwire-run: $fault was killed by signal $signal \
before it served, with $ours
heapwire-run: $fault $without" "$status $(cat "$WORK/out") $said"
done
expect "kept" 6 "$(grep -c ' restarted=2 ' "$STATE/deaths")"
run --profiling off --jemalloc no -- "$fault" agent 6 5
expect "the agent alone" "5 main prof=0 jemalloc=0
main prof=0 jemalloc=0 heapwire-run: $fault was killed by signal 6 (SIGABRT) \
before it served, with heapwire's agent in it, which may be why it did: it is \
started again, once, without any of that; heapwire knows nothing of it then
heapwire-run: $fault $without" "$status $(cat "$WORK/out") $said"
run -- "$fault" main 11
expect "not ours" "139 main prof=1 jemalloc=1
main prof=0 jemalloc=0 heapwire-run: $fault was killed by signal 11 (SIGSEGV) \
before it served, with $ours
heapwire-run: $fault has ended the same way without heapwire in it: heapwire \
was not the cause" "$status $(cat "$WORK/out") $said"
run --start-timeout 0 -- "$fault" agent 6 5
expect "in main, not watched" "134 main prof=1 jemalloc=1" \
    "$status $(cat "$WORK/out")"

for signal in 13 14 10; do # its reader has left, its time is up, a wish
    run -- "$fault" main $signal
    expect "no fault: $signal" "$((128 + signal)) main prof=1 jemalloc=1 " \
        "$status $(cat "$WORK/out") $said"
done

# What has served never is.
run -- "$fault" served 11
expect "served, a fault" "139 main prof=1 jemalloc=1 heapwire-run: $fault was \
killed by signal 11 (SIGSEGV) soon after its start, with prof:true set and \
$JEMALLOC preloaded, which may be why it did (--profiling off: never prof:true; \
--jemalloc no: never that preload)" "$status $(cat "$WORK/out") $said"
run -- "$fault" main 9
expect "main, killed" "137 main prof=1 jemalloc=1 " \
    "$status $(cat "$WORK/out") $said"
run --start-timeout 15 -- "$fault" never 0 7
expect "main, its end" "7 main prof=1 jemalloc=1 " \
    "$status $(cat "$WORK/out") $said"

# The node says why it does not profile.
$start -- "$fault" prof 11 stay >"$WORK/out" 2>"$WORK/err" &
runner=$!
started $runner
sql() { mariadb --no-defaults -S "$STATE/mysql.sock" -u root -N -B -e "$1" 2>&1; }
refused() {
    sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" |
        grep -q "with prof:true, or .*, it did not reach its main, so it was"
}
wait_for 60 refused || fail "not said why: $(cat "$WORK/err")"
expect "deaths" "$(grep -c restarted=1 "$STATE/deaths")" "$(sql "SELECT count(*)
    FROM heapwire.deaths WHERE how LIKE 'was killed by signal %, before its main \
was reached: it was started again without prof:true and without a preloaded%'" |
    head -1)"
kill $runner
wait $runner

$start -- "$fault" agent 6 stay >"$WORK/out" 2>"$WORK/err" &
runner=$!
started $runner
refused() {
    sql "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'" |
        grep "was started again without heapwire in it"
}
wait_for 60 refused || fail "not said why: $(sql "ADMIN EXECUTE ON 10001 \
    'HeapProf.getInstance().enable_prof()'")"
expect "deaths without us" "$(grep -c restarted=2 "$STATE/deaths")" "$(sql "SELECT \
    count(*) FROM heapwire.deaths WHERE how LIKE '%, before it served: it was \
started again without heapwire in it'" | head -1)"
kill $runner
wait $runner

# Nor what a signal ends, or a debugger looks at.
$start -- "$fault" prof hang 5 >"$WORK/out" 2>"$WORK/err" &
runner=$!
started $runner
hangs() { pgrep -P $runner -x start_fault >/dev/null; }
wait_for 60 hangs || fail "no database"
kill -ABRT "$(pgrep -P $runner -x start_fault)"
wait $runner
expect "a fault from outside is one, too" 5 $?
$start -- "$fault" prof hang 5 >"$WORK/out" 2>"$WORK/err" &
runner=$!
started $runner
wait_for 60 hangs || fail "no database"
kill $runner
wait $runner
expect "ended by a signal" "143 " "$? $(cat "$WORK/out")"
cat >"$WORK/hold.py" <<'END'
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
pid = int(sys.argv[1])
assert libc.ptrace(16, pid, 0, 0) == 0  # attach
os.waitpid(pid, 0)
time.sleep(5.5)  # longer than --start-timeout
assert libc.ptrace(17, pid, 0, 0) == 0  # detach: it is still there
print("held")
END
$start --start-timeout 5 -- "$fault" prof hang 5 >"$WORK/out" 2>"$WORK/err" &
runner=$!
started $runner
wait_for 60 hangs || fail "no database"
expect "held by a debugger" held "$(/usr/bin/python3 "$WORK/hold.py" \
    "$(pgrep -P $runner -x start_fault)")"
wait $runner
expect "afterwards it is killed" 5 $?

# A script whose database hangs is left alone, with a warning.
printf '#!/bin/sh\n%s "$@"\nexit 3\n' "$fault" >"$WORK/script"
$start --start-timeout 1 --exe "$fault" -- "$WORK/script" prof hang \
    >"$WORK/out" 2>"$WORK/err" &
runner=$!
started $runner
told() { grep -q 'did not reach its main in 1 s, with prof:true' "$WORK/err"; }
wait_for 60 told || fail "a script's database: $(cat "$WORK/err")"
scripted() {
    script=$(pgrep -P $runner -x script) &&
        pgrep -x -P "$script" start_fault >"$WORK/scripted"
}
wait_for 60 scripted || fail "no database under the script"
kill "$(cat "$WORK/scripted")"
wait $runner
expect "the script goes on" 3 $?
