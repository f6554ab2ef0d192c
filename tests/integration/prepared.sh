#!/bin/sh
# The binary protocol, down to the bytes and through real clients: prepared.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/prepared.py" "$@"
