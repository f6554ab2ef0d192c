#!/bin/sh
# clients_all.sh - the clients that need more than Debian's small packages: a
# Java, a Go, a node, a Ruby, and what Maven Central, npm and Go's proxy have.
set -eu
sh docker/install.sh clients
CLIENTS='connectorj mysqlj go xorm mysql2 mycli dbd_mariadb ruby sysbench' \
    exec sh tests/integration/cases/clients.sh
