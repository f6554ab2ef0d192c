#!/bin/sh
# file_limit.sh - where files may not grow (ulimit -f), heapwired and
# heapwire-run say so and go on; the database's own signals are its own.
. tests/integration/lib/lib.inc

ulimit -f 16 # of 512 bytes
node_options="--listen none --linger 0" # a slow machine takes more than 10 s
start_redis
for _ in $(seq 80); do
    echo "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().has_enable())';"
done >"$work/many.sql"
sql "source $work/many.sql" >/dev/null || true
same "the log is full" 8192 "$(stat -c %s "$work/node/heapwired.log")"
same "heapwired goes on" 1 "$(sql 'SELECT 1')"
# 25 is SIGXFSZ
is_ignored_by() {
    [ $((0x$(sed -n 's/^SigIgn:[[:space:]]*//p' "/proc/$1/status") >> 24 & 1)) = 1 ]
}
check
is_ignored_by "$run" || fault "heapwire-run would die of it"
check
is_ignored_by "$redis" && fault "the database has lost the signal"
kill -XFSZ "$redis"
status=0
wait "$run" || status=$?
same "its status" $((128 + 25)) "$status"
finish_test
