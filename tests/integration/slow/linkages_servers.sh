#!/bin/sh
# linkages_servers.sh - servers as packages have them, and databases in Python
# from PyPI.
set -eu

sh docker/install.sh servers
[ -d build/linked/python ] ||
    python3 -m pip install -q --target build/linked/python chdb polars
exec /usr/bin/python3 tests/integration/slow/linkages_servers.py "$@"
