#!/bin/sh
# TLS, down to the bytes and up to real clients: see tls.py.
set -eu
PYTHON=${PYTHON:-/usr/bin/python3}
exec "$PYTHON" "$(dirname "$0")/tls.py" "$@"
