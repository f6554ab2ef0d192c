#!/bin/sh
# hanging_symbolizer.sh - a symboliser that never answers costs the names, not
# the statement: addresses come back before its 60 s are over, and say why.
. tests/integration/lib/lib.inc

lame_node 'exec sleep 100'
dot=$(prof 'dump_dot_snapshot()' || true)
contains "addresses" "redis-check-rdb+0x" "$dot"
contains "why" "the symboliser took too long" "$(echo "$dot" | grep '^Legend')"
same "others are served" false "$(prof 'disable_prof()' >/dev/null
    prof 'has_enable()')"

finish_test
