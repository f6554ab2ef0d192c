#!/bin/sh
# store_kill.sh - heapwired is killed at 200 moments while it keeps snapshots.
set -eu
PYTHONPATH=tests/integration/lib exec "${PYTHON:-/usr/bin/python3}" \
    tests/integration/store_kill.py "${ROUNDS:-200}"
