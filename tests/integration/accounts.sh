#!/bin/sh
# Accounts, limits and fairness: see accounts.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/accounts.py" "$@"
