#!/bin/sh
# The MySQL protocol, down to the bytes: see protocol.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/protocol.py" "$@"
