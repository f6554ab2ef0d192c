#!/bin/sh
# clients_all.sh - the clients that need more than Debian's small packages: a
# Java, a Go, a node, a Ruby, a Rust, and what Maven Central, npm, Go's proxy
# and crates.io have.
set -eu
sh docker/install.sh clients
CLIENTS='connectorj mysqlj go xorm gorm rust mysql2 mycli dbd_mariadb ruby sysbench' \
    exec sh tests/integration/cases/clients.sh
