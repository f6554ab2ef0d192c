#!/bin/sh
# node.sh - one node of compose.yaml: Redis under heapwire-run.
#
# NODE_ID selects it; all else is in setup.sh's file, the same for every node.
set -eu
address=$(hostname -i | cut -d ' ' -f 1)
exec heapwire-run --config /etc/heapwire/heapwire.ini --node-id "$NODE_ID" \
    --state-dir "/run/heapwire/$NODE_ID" --listen "$address:9036" -- \
    redis-server --bind 0.0.0.0 --protected-mode no --save ''
