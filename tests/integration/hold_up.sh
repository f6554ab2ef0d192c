#!/bin/sh
# Statements made to hold up the event loop or a worker: see hold_up.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec timeout 300 "$PYTHON" "$(dirname "$0")/hold_up.py" "$@"
