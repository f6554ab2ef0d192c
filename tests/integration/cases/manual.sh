#!/bin/sh
# manual.sh - every statement of StarRocks' manual, as printed there, against
# a real redis under load.
. tests/integration/lib/lib.inc

start_redis

same "disabled at first" false "$(prof 'has_enable()')"
same "enable" "instance of HeapProf" "$(prof 'enable_prof()')"
same "enabled" true "$(prof 'has_enable()')"
same "enable again" "instance of HeapProf" "$(prof 'enable_prof()')"
load_redis

dot=$(prof 'dump_dot_snapshot()')
contains "a digraph" 'digraph "/usr/bin/redis-' "$dot"
contains "the legend" 'Legend [shape=box' "$dot"
contains "redis's own names" '[label="main\n' "$dot"
same "ends" '}' "$(echo "$dot" | tail -n 1)"
echo "$dot" >"$work/heap.dot"
check
dot -Tsvg "$work/heap.dot" >"$work/heap.svg" || fault "graphviz refuses it"
check
[ "$(grep -c '<g id="node' "$work/heap.svg")" -gt 5 ] || fault "few nodes"

name=$(prof 'snapshot()')
contains "a snapshot's name" heap_ "$name"
contains "its dot" 'digraph "/usr/bin/redis-' \
    "$(prof "to_dot_format(\"$name\")")"
contains "an unknown snapshot" "no snapshot named 'heap_0'" \
    "$(prof 'to_dot_format("heap_0")' || true)"

same "disable" "instance of HeapProf" "$(prof 'disable_prof()')"
same "disabled" false "$(prof 'has_enable()')"

# As printed in the manual: one column, one row per line.
same "the column's name" result "$(mariadb --no-defaults -S \
    "$work/node/mysql.sock" -u root -B -e "admin execute on 10001 \
    'System.print(HeapProf.getInstance().has_enable())'" | head -n 1)"
same "row and frame" "+--------+
| result |
+--------+
| true   |
+--------+" "$(prof 'enable_prof()' >/dev/null
    mariadb --no-defaults -S "$work/node/mysql.sock" -u root -t -e \
        "admin execute on 10001 'System.print(HeapProf.getInstance().has_enable())'")"

contains "backends" 10001 "$(sql 'SHOW BACKENDS')"
same "compute nodes" "" "$(sql 'SHOW COMPUTE NODES')"
contains "another node" "node not found: 10002" \
    "$(sql "ADMIN EXECUTE ON 10002 'System.print(1)'" || true)"
same "a list" "10001	OK	1
10002	ERROR	node not found" \
    "$(sql "ADMIN EXECUTE ON 10002, 10001 'System.print(1)'" || true)"

finish_test
