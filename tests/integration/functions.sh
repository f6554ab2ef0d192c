#!/bin/sh
# What a session may reach through functions of SQL: see functions.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/functions.py" "$@"
