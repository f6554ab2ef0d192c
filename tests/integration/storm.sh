#!/bin/sh
# Many clients at once, none of them patient: see storm.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/storm.py" "$@"
