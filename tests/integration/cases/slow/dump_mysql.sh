#!/bin/sh
# dump_mysql.sh - dump.sh with a MySQL in place of the MariaDB: that of Debian's
# unstable, whose packages and the libraries they need are unpacked, not
# installed.
set -eu
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
trap 'exit 130' INT TERM
lacking() {
    echo "skipped: $*"
    exit 0
}
curl -fsI -m 30 -o "$apt/reached" "$mirror/dists/sid/InRelease" ||
    lacking "no mirror of Debian's unstable is reached at $mirror"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/root"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" \
    >"$apt/sources.list"
cat >"$apt/apt.conf" <<END
Dir::State "$apt";
Dir::State::status "/dev/null";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
APT_CONFIG=$apt/apt.conf
export APT_CONFIG
{ apt-get update && apt-get install -y --download-only --no-install-recommends \
    mysql-server-core; } >"$apt/log" 2>&1 || {
    tail "$apt/log"
    exit 1
}
unset APT_CONFIG
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$apt/root"
done
usr=$apt/root/usr
arch=$(uname -m)
mysqld="$(ls "$usr"/lib*/ld-linux-*) --library-path $usr/lib/$arch-linux-gnu
    $usr/sbin/mysqld"
echo "MySQL: $($mysqld --version | sed 's/.*  *Ver/Ver/')"
MYSQLD="$mysqld --no-defaults --user=root --basedir=$usr --secure-file-priv=
    --mysqlx=OFF" sh tests/integration/cases/dump.sh
