#!/bin/sh
# cluster.sh - one statement on many nodes, against a loop over the client: see
# cluster.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/cluster.py" "$@"
