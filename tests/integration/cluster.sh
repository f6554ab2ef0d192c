#!/bin/sh
# Five Redis nodes as one cluster, and what befalls nodes: see cluster.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/cluster.py" "$@"
