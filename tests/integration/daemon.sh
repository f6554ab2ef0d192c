#!/bin/sh
# heapwired as a process: see daemon.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/daemon.py" "$@"
