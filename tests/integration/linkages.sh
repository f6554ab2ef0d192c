#!/bin/sh
# linkages.sh - databases as they are linked and started, by a table of truths.
set -eu

sh tests/integration/linked/build.sh
exec /usr/bin/python3 tests/integration/linkages.py "$@"
