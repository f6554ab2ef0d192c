#!/bin/sh
# setup.sh - what the nodes of compose.yaml share, made once: accounts, whose
# passwords are in admin.password and grafana.password, and the cluster's secret.
# Prometheus gets a token, and nothing else, in a directory of its own.
set -eu
umask 077
cd "${1:-/etc/heapwire}"
[ ! -e heapwire.ini ] || exit 0
rm -f new.ini
heapwire-passwd new.ini admin --privileges all >admin.password
heapwire-passwd new.ini grafana --privileges status,profile,cluster >grafana.password
token=$(heapwire-passwd new.ini prometheus --token --privileges status)
(umask 022; echo "$token" >"${SCRAPE:-/etc/heapwire-scrape}/token")
cat >>new.ini <<END
[node]
http = 0.0.0.0:9037
[cluster]
name = compose
secret = $(heapwire-passwd --cluster-secret)
etcd = ${ETCD:-http://etcd:2379}
END
mv new.ini heapwire.ini
