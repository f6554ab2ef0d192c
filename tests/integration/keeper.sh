#!/bin/sh
# What runs SQL has no secret in its memory: see keeper.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/keeper.py" "$@"
