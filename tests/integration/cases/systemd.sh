#!/bin/sh
# systemd.sh - services of Type=notify under heapwire-run: systemd heeds what its
# main process says, which is heapwire-run.  And the drop-ins.
. tests/integration/lib/lib.inc
notify="$python $PWD/tests/integration/programs/notify.py"
python_exe=$(realpath "$python")
begin() { # ADDRESS COMMAND...
    address=$1
    shift
    : >"$work/said" # by the service before
    # shellcheck disable=SC2086
    $notify manager "$address" "$bin/heapwire-run" --listen none \
        --state-dir "$work/state" --linger 0 "$@" >"$work/said" \
        2>"$work/err" &
    manager=$!
    pids="$manager $pids"
}
end() {
    kill "$manager"
    wait "$manager" || true
}
said() {
    grep -q -- "$1" "$work/said"
}

# What a database may say, over both kinds of socket.
for address in "@heapwire-test-$$" "$work/notify"; do
    # shellcheck disable=SC2086
    begin "$address" --exe "$python_exe" -- $notify database
    wait "$manager" || true
    same "$address" "STATUS=one| STATUS=stranger READY=1|STATUS=watched 1 \
STOPPING=1 status 0" "$(xargs <"$work/said")"
    same "$address: descriptors" 1 \
        "$(grep -c 'FDSTORE=1) are not passed on' "$work/err")"
done

# A process that is no child of heapwire-run says nothing.
begin "@heapwire-test-$$" --exe "$python_exe" -- "$python" -c '
import os, signal, sys
open(sys.argv[1], "w").write(os.environ["NOTIFY_SOCKET"])
signal.pause()' "$work/address"
wait_for 60 test -s "$work/address"
# shellcheck disable=SC2046
$notify stranger "$(cat "$work/address")"
end
same "a stranger" "status 143" "$(grep -v '^status -' "$work/said")"

# Redis.
begin "@heapwire-test-$$" -- redis-server --port 0 --unixsocket "$work/redis" \
    --save '' --dir "$work" --supervised systemd --daemonize no
wait_for 60 said 'READY=1' || fault "redis: $(cat "$work/said" "$work/err")"
check
said 'STATUS=Ready to accept' || fault "redis' STATUS: $(cat "$work/said")"
end
check
said 'STOPPING=1' || fault "redis' STOPPING: $(cat "$work/said")"
same "redis' status" "status 0" "$(tail -1 "$work/said")"

# MariaDB, as root's service that runs as mysql.
install_mariadb
begin "@heapwire-test-$$" -- mariadbd --no-defaults --user=mysql \
    --datadir="$work/db/data" --tmpdir="$work/db/data" --socket="$work/db/sock" --skip-networking \
    --pid-file="$work/db/pid" --innodb-buffer-pool-size=16M
wait_for 60 said 'READY=1' || fault "mariadbd: $(cat "$work/said" "$work/err")"
check
said "STATUS=Taking your SQL requests" || fault "STATUS: $(cat "$work/said")"
end
check
said 'STOPPING=1' || fault "mariadbd's STOPPING: $(cat "$work/said")"
same "mariadbd's status" "status 0" "$(tail -1 "$work/said")"

# The drop-ins, with the units of Debian's packages.
mkdir "$work/units"
for service in redis-server mariadb; do
    cp "/lib/systemd/system/$service.service" "$work/units"
    mkdir "$work/units/$service.service.d"
    sed "s|[^ =]*/bin/heapwire-run|$bin/heapwire-run|" \
        "$bin/../systemd/$service.service.d/heapwire.conf" \
        >"$work/units/$service.service.d/heapwire.conf"
    SYSTEMD_UNIT_PATH="$work/units:/lib/systemd/system" systemd-analyze verify \
        --man=no --recursive-errors=one "$service.service" >"$work/verified" \
        2>&1 || fault "$service: $(cat "$work/verified")"
    same "$service" "" "$(grep -i 'heapwire' "$work/verified")"
done
finish_test
