#!/bin/sh
# demo.sh - docker/demo.sh runs to its end and shows what it promises.
. tests/integration/lib/lib.inc

KEYS=20000 sh docker/demo.sh >"$work/out" 2>&1 </dev/null || {
    fault "the demo failed"
    tail -n 40 "$work/out"
}
out=$(cat "$work/out")
contains "enabled" "| instance of HeapProf |" "$out"
contains "the graph" 'digraph "/usr/bin/redis-' "$out"
contains "a snapshot" "| heap_20" "$out"
contains "how to connect" "mysql --host 127.0.0.1" "$out"
contains "a picture" "</svg>" "$(cat heap.svg)"

finish_test
