#!/bin/sh
# clients_all.sh - the clients that need more than Debian's small packages:
# a Java, a Go, a node.
CLIENTS='connectorj go mysql2 mycli' exec sh tests/integration/clients.sh
