#!/bin/sh
# install.sh - the Debian 12 packages that each purpose needs.  Where they are
# installed already, it does nothing.
#
# docker/install.sh          all that building, the demo and tests/run.sh need
# docker/install.sh build    to build and install heapwire
# docker/install.sh demo     docker/demo.sh: build, a Redis and a client
# docker/install.sh runtime  to run an installed heapwire
# docker/install.sh clients  what tests/integration/cases/slow tries, besides
# docker/install.sh servers  what linkages_servers.py there runs
# docker/install.sh neutral  the databases' own tests, and what loads them
# docker/install.sh packages what makes the Debian packages, and tries them
# docker/install.sh cross    for the preset arm64, and to run what it makes, on
#                            amd64: in a chroot, as it adds an architecture
set -eu

runtime="libjemalloc2 libuv1 libssl3 libsqlite3-0 libinih1 libpcre2-8-0 zlib1g
    libzstd1 libdeflate0 libmariadb3 libcurl4 libcjson1 libgcc-s1
    libncursesw6 libtinfo6"
build="gcc libc6-dev cmake ninja-build pkg-config binutils-dev libiberty-dev
    zlib1g-dev libzstd-dev libuv1-dev libssl-dev libsqlite3-dev libinih-dev
    libpcre2-dev libdeflate-dev default-libmysqlclient-dev
    libcurl4-openssl-dev libcjson-dev libncurses-dev"
case "$(dpkg --print-architecture)" in
amd64) # what decodes its instructions
    runtime="$runtime libzydis4.0"
    build="$build libzydis-dev"
    ;;
esac
demo="redis-server redis-tools mariadb-client-core curl man-db"
tests="build-essential check clang clang-format clang-tidy libclang-rt-14-dev git llvm
    libjemalloc-dev gosu haproxy numactl redis-server redis-tools mariadb-server mariadb-client
    python3 python3-pymysql python3-pyte python3-yaml zsh graphviz libc6-dbg procps util-linux file gdb
    strace openssl etcd-server etcd-client iproute2 php-cli php-mysql libdbd-mysql-perl
    unixodbc odbc-mariadb python3-pyodbc python3-mysqldb python3-sqlalchemy
    python3-pandas default-jdk-headless libmariadb-java golang-go
    libxml2-utils poppler-utils qpdf dwz systemd mandoc curl debootstrap
    libdebuginfod1 libdw-dev prometheus chromium chromium-driver fonts-dejavu-core linux-perf"
clients="golang-github-go-sql-driver-mysql-dev mycli libdbd-mariadb-perl
    ruby-mysql2 sysbench maven percona-toolkit mysqltuner
    monitoring-plugins-contrib phpmyadmin"
servers="varnish bind9 postgresql python3-pip"
neutral="redis-server redis-tools mariadb-server mariadb-test sysbench tcl tcl-tls
    dpkg-dev"
# What is compiled against is arm64's.
cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstdc++-12-dev-arm64-cross cmake ninja-build
    pkg-config dpkg-dev file qemu-user-static graphviz redis-server:arm64"
for package in $build check libjemalloc-dev; do
    case "$package" in
    gcc | cmake | ninja-build | pkg-config | binutils-dev | *zydis*) ;;
    default-libmysqlclient-dev) cross="$cross libmariadb-dev:arm64" ;;
    *) cross="$cross $package:arm64" ;;
    esac
done
packages_tools="dpkg-dev file lintian debootstrap curl iproute2"
command -v npm >/dev/null || clients="$clients nodejs npm" # if not another's

case "${1:-all}" in
runtime) packages="$runtime" ;;
build) packages="$runtime $build" ;;
demo) packages="$runtime $build $demo" ;;
clients) packages="$clients" ;;
servers) packages="$servers" ;;
neutral) packages="$neutral" ;;
packages) packages="$build $packages_tools" ;;
cross) packages="$cross" ;;
all) packages="$runtime $build $tests" ;;
*)
    echo "usage: install.sh [build | demo | runtime | clients | servers | neutral | packages | cross]" >&2
    exit 64
    ;;
esac

# Missing are those that dpkg does not list as installed.
# shellcheck disable=SC2086
installed=" $(dpkg-query -W -f '${Package}=${db:Status-Status}\n${binary:Package}=${db:Status-Status}\n' $packages \
    2>/dev/null | sed -n 's/=installed$//p' | tr '\n' ' ')"
missing=
for package in $packages; do
    case "$installed" in
    *" $package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    sudo=sudo
fi

# The servers are installed for their programs: none is to be started.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '$sudo rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
    $sudo chmod 755 "$policy"
fi
[ "${1:-all}" != cross ] || $sudo dpkg --add-architecture arm64
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends $missing >/dev/null

# arm64's libbfd does not install beside the compiler's: unpacked it does no harm.
if [ "${1:-all}" = cross ]; then
    at=$(mktemp -d)
    (cd "$at" && apt-get download -qq binutils-dev:arm64 libbinutils:arm64)
    for package in "$at"/*.deb; do
        $sudo dpkg -x "$package" /
    done
    rm -r "$at"
fi
