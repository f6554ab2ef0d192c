#!/bin/sh
# setup.sh - what the nodes of compose.yaml share, made once: an account, whose
# password is in admin.password, and the cluster's secret.
set -eu
umask 077
cd "${1:-/etc/heapwire}"
[ ! -e heapwire.ini ] || exit 0
rm -f new.ini
heapwire-passwd new.ini admin --privileges all >admin.password
cat >>new.ini <<END
[cluster]
name = compose
secret = $(heapwire-passwd --cluster-secret)
etcd = ${ETCD:-http://etcd:2379}
END
mv new.ini heapwire.ini
