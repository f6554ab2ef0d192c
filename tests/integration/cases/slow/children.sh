#!/bin/sh
# Real servers that work in children: varnish's worker, one of PostgreSQL's
# processes by its title.
. tests/integration/lib/agent.inc
chmod 755 "$WORK"

# run OPTIONS... -- COMMAND: under heapwire-run
run() {
    "$BUILD/bin/heapwire-run" --listen none --state-dir "$STATE" "$@" \
        >"$WORK/log" 2>&1 &
    run=$!
    started $run
}
says() {
    mariadb --no-defaults --skip-ssl -S "$STATE/mysql.sock" -u root -N -B --raw \
        -e "$1" 2>&1
}
call() { says "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().$1)'"; }
serves() {
    pid=$(says "SELECT pid FROM heapwire.memory_history ORDER BY at DESC LIMIT 1") &&
        [ -n "$pid" ] && grep -q "$1" "/proc/$pid/cmdline" "/proc/$pid/comm" 2>/dev/null
}
stop() {
    kill $run
    wait $run
    echo "ended with $?"
}

if varnishd=$(command -v varnishd); then
    run --process child -- "$varnishd" -F -a 127.0.0.1:0 -b none \
        -n "$WORK/varnish" -j none -s malloc,16m
    wait_for 20 serves cache-main || fail "varnish: $pid, $(cat "$WORK/log")"
    worker=$pid
    call 'enable_prof()' >/dev/null
    enabled() { [ "$(call 'has_enable()')" = true ]; }
    wait_for 60 enabled || fail "varnish: enable"
    kill -KILL "$worker"
    another() { serves cache-main && [ "$pid" != "$worker" ]; }
    wait_for 20 another || fail "varnish: the next worker is not served"
    stop # 64: varnishd's, because a worker was killed
else
    echo "skipped: no varnish"
fi

pg=/usr/lib/postgresql/15/bin
if [ -x $pg/postgres ]; then
    chown -R postgres "$STATE"
    install -d -o postgres "$WORK/pg"
    as_pg() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
    as_pg $pg/initdb -D "$WORK/pg/data" -A trust >/dev/null || fail "initdb"
    run_pg() {
        rm -rf "$STATE"
        run "$@" --user postgres -- setpriv --reuid=postgres --regid=postgres \
            --clear-groups $pg/postgres -D "$WORK/pg/data" -k "$WORK/pg" \
            -c listen_addresses=
    }
    run_pg --exe $pg/postgres --process 'postgres: checkpointer'
    wait_for 20 serves checkpointer || fail "pg: $pid $(cat "$WORK/log")"
    call 'enable_prof()' >/dev/null
    expect "the checkpointer is profiled" true "$(call 'has_enable()')"
    psql -h "$WORK/pg" -U postgres -Atc 'select count(*) from generate_series(1,100000)' ||
        fail "pg: no answer"
    stop
else
    echo "skipped: no PostgreSQL"
fi
exit 0
