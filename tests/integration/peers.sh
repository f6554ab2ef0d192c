#!/bin/sh
# Nodes that prove themselves to each other: see peers.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/peers.py" "$@"
