#!/bin/sh
# Random statements of a grammar over all of them: see grammar.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/grammar.py" "$@"
