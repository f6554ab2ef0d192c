#!/bin/sh
# linkages.sh - databases as they are linked and started, by a table of truths.
set -eu

sh tests/integration/programs/linked/build.sh
exec /usr/bin/python3 tests/integration/linkages.py "$@"
