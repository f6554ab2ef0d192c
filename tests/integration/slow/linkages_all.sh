#!/bin/sh
# linkages_all.sh - as linkages.sh, with more versions of jemalloc, and Rust
# with whatever cargo there is.
set -eu

here=tests/integration/programs/linked
sh $here/build.sh all
exec /usr/bin/python3 tests/integration/slow/linkages_all.py "$@"
