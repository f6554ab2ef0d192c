#!/bin/sh
# A node that asks others, over links that do all that links can do wrong: see
# links.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/links.py" "$@"
