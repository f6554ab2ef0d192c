#!/bin/sh
# Nodes that find each other by etcd, which comes, goes, and lies: see etcd.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/etcd.py" "$@"
