#!/bin/sh
# deb_packages.sh - the Debian packages: built twice alike, clean for lintian, and
# in a bare Debian 12 installed, run, upgraded, removed and purged.  In a pid
# namespace, so that what runs there ends with this.
[ "${IN_NAMESPACE:-}" ] || [ "$(id -u)" != 0 ] ||
    ! unshare --mount-proc --pid --fork true 2>/dev/null ||
    IN_NAMESPACE=yes exec unshare --mount-proc --pid --fork --kill-child sh "$0"
. tests/integration/lib/lib.inc
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
lacking() {
    echo "skipped: $*"
    finished=yes
    exit 0
}
[ "$(id -u)" = 0 ] || lacking "needs root, to make a Debian of its own"
[ "${IN_NAMESPACE:-}" ] || lacking "no namespaces can be made here"
for program in debootstrap lintian curl; do
    command -v $program >/dev/null ||
        lacking "no $program: sh docker/install.sh packages"
done
curl -fsI -m 30 -o "$work/reached" "$mirror/dists/bookworm/InRelease" ||
    lacking "no mirror of Debian is reached at $mirror"
umask 022
chmod 755 "$work"

# Alike from two directories: compiled each, for ccache writes other paths.
unset CMAKE_C_COMPILER_LAUNCHER
for tree in "$work/one" "$work/two/elsewhere"; do
    mkdir -p "$tree"
    git ls-files -z | xargs -0 cp --parents -t "$tree"
    cmake -S "$tree" --preset package >"$work/build.log" &&
        (cd "$tree" && cmake --build --preset package) >>"$work/build.log" 2>&1 ||
        fault "build in $tree: $(tail -n 20 "$work/build.log")"
done
new=$work/one/build/package
sums() {
    (cd "$1" && sha256sum ./*.deb ./*.ddeb)
}
same "packages" 8 "$(sums "$new" | wc -l)"
same "built elsewhere" "$(sums "$new")" "$(sums "$work/two/elsewhere/build/package")"
same lintian "" "$(lintian --allow-root --fail-on error,warning "$new"/*.deb "$new"/*.ddeb 2>&1)"

# The same as a version before.
(cd "$new" && cpack -R 0.9.0 -B "$work/old") >"$work/cpack.log" 2>&1

root=$work/root
at_end() {
    umount -l "$root/proc" 2>/dev/null
}
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || {
    tail -n 5 "$work/debootstrap.log"
    exit 1
}
mount -t proc proc "$root/proc"
mkdir "$root/packages"
cp "$new"/*.deb "$new"/*.ddeb "$work/old/"*.deb "$root/packages"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}
install() {
    inside apt-get install -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
        fault "install $*: $(tail -n 20 "$work/apt.log")"
}
# ours VERSION: the files of three packages, which apt takes as they come.
ours() {
    for package in heapwire libheapwire heapwire-symbolizer; do
        echo "/packages/${package}_$1_$(dpkg --print-architecture).deb"
    done
}
# apart COMMAND... &: its ports are those of a network of its own.
apart() {
    exec unshare --net sh -c 'ip link set lo up; exec "$@"' - "$@"
}
node() { # STATEMENT
    inside heapwire -S /run/heapwire/10001/mysql.sock sql "$1" 2>&1
}
redis() {
    nsenter --net="/proc/$run/ns/net" chroot "$root" "$@"
}
begin() {
    # shellcheck disable=SC2016
    apart env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$root" sh -c '
        cd /root
        [ -e heapwire.ini ] ||
            (umask 077; heapwire-passwd heapwire.ini admin --privileges all > admin.password)
        exec heapwire-run --config heapwire.ini -- redis-server --port 6390 --save ""' \
        >"$work/node.log" 2>&1 &
    run=$!
    wait_for 60 node 'SELECT 1' || fault "no node: $(cat "$work/node.log")"
    wait_for 60 redis redis-cli -p 6390 ping || fault "no Redis: $(cat "$work/node.log")"
}
end() {
    kill "$run"
    wait "$run" || fault "heapwire-run ended with $?"
}
profile() {
    node "ADMIN EXECUTE ON 10001 'System.print(HeapProf.getInstance().enable_prof())'" >/dev/null
    redis redis-benchmark -p 6390 -n 200000 -r 200000 -d 200 -P 16 -q -t set,lpush >/dev/null
    contains "$1: who allocates" _sdsnewlen "$(node 'SELECT function FROM heap_functions
        ORDER BY flat_bytes DESC LIMIT 5')"
}

# shellcheck disable=SC2046
install $(ours 0.9.0) redis-server libjemalloc2 man-db
begin
profile "version 0.9.0"

# Upgraded below a running node, which stays, and starts again as the new one.
# shellcheck disable=SC2046
install $(ours 1.0.0)
same upgraded "1.0.0 1.0.0 1.0.0" "$(inside dpkg-query -W -f '${Version} ' \
    heapwire libheapwire heapwire-symbolizer | xargs)"
contains "through the upgrade" _sdsnewlen "$(node 'SELECT function FROM heap_functions
    ORDER BY flat_bytes DESC LIMIT 5')"
end
begin
profile "version 1.0.0"
for page in heapwire-run heapwired heapwire.ini heapwire; do
    inside man "$page" >"$work/page" 2>&1 || fault "man $page: $(cat "$work/page")"
    same "$page names /usr/local" "" "$(grep /usr/local/lib "$work/page")"
done
# Those who link it; and where a library's debug symbols are.
install gcc libc6-dev pkg-config "/packages/libheapwire-dbgsym_1.0.0_$(dpkg --print-architecture).ddeb"
same "linked" 0 "$(inside sh -c 'echo "#include <heapwire.h>
int main(void) { return heapwire_stop(); }" > /tmp/a.c
    cc /tmp/a.c -o /tmp/a $(pkg-config --cflags --libs heapwire) && /tmp/a; echo $?' 2>&1)"
id=$(inside readelf -n /usr/lib/heapwire/libheapwire.so | sed -n 's/.*Build ID: //p')
check
[ -e "$root/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug" ] ||
    fault "no debug symbols of $id"

# MariaDB's plugin.
install mariadb-server "/packages/mariadb-plugin-heapwire_1.0.0_$(dpkg --print-architecture).deb"
apart env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh -c \
    'install -d -o mysql /run/mysqld; exec mariadbd --user=mysql --skip-networking' \
    >"$work/mariadb.log" 2>&1 &
db=$!
maria() {
    inside mariadb -N -B -e "$1" 2>&1
}
wait_for 60 maria 'SELECT 1' || fault "no mariadbd: $(cat "$work/mariadb.log")"
same "installed" "" "$(maria "INSTALL SONAME 'heapwire'")"
same "plugin" "Heapwire_agent serving" "$(maria "SHOW STATUS LIKE 'heapwire_agent'" | xargs)"
beside() {
    inside heapwire -S /var/lib/mysql/mysql/.heapwire/mysql.sock sql 'SELECT COUNT(*) FROM threads'
}
wait_for 60 beside || fault "no node beside mariadbd: $(beside 2>&1)"
same "uninstalled" "" "$(maria "UNINSTALL SONAME 'heapwire'")"
kill "$db"
wait "$db" || fault "mariadbd ended with $?"

# Removed, also where a node runs; purged, nothing is left but what users made.
inside apt-get remove -y heapwire libheapwire >"$work/apt.log" 2>&1 ||
    fault "remove: $(tail -n 20 "$work/apt.log")"
contains "after removal" 10001 "$(ls "$root/run/heapwire")"
purge() {
    # shellcheck disable=SC2016
    inside sh -c 'dpkg-query -W -f "\${Package}\n" | grep heapwire |
        xargs apt-get purge -y' >"$work/apt.log" 2>&1 ||
        fault "purge: $(tail -n 20 "$work/apt.log")"
}
mkdir "$root/run/heapwire/10002" # of a node that ended
purge
contains "it is left, as it runs" "heapwire: leaves /run/heapwire/10001" "$(cat "$work/apt.log")"
same "and it alone" "10001" "$(ls "$root/run/heapwire")"
[ -S "$root/run/heapwire/10001/mysql.sock" ] || fault "the running node has lost its socket"
end
inside sh -c 'rm -r /run/heapwire' # as its user would
same "left" "" "$(find "$root/usr" "$root/etc" "$root/var/lib" "$root/run" -xdev -name '*heapwire*')"
finish_test
