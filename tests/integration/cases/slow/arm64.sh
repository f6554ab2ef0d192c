#!/bin/sh
# arm64.sh - cross-compiled for arm64 in a Debian 12 of its own; there, under
# qemu-user, the unit suites, and a Redis node that a client profiles.
#
# ARM64_ROOT names a directory for that Debian (3 GB), which stays for the next
# time.
. tests/integration/lib/lib.inc
lacking() {
    echo "skipped: $*"
    finished=yes
    exit 0
}
[ "$(dpkg --print-architecture)" = amd64 ] || lacking "it is for amd64"
[ "$(id -u)" = 0 ] || lacking "needs root, to make a Debian of its own"
command -v debootstrap >/dev/null || lacking "no debootstrap"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=${ARM64_ROOT:-$work/root}
umask 022

# What did not pass here, and what we take for the reason.
unable="confined limits             # no seccomp, no Landlock
    ptrace_stop sampler thread_tracer threads time_remarks # no ptrace
    code_map map_source memory_sampler process_stat tables_threads # /proc has qemu's own, or nothing
    sample_table segment_file   # no MADV_WIPEONFORK, no MADV_REMOVE
    own_calls unwind_walk       # the stack is below the libraries; no vDSO's signal return
    agent_client tcp_owner      # descriptors that a message has no room for are leaked; no sock_diag
    graphviz                    # no error of a posix_spawn
    allocators                  # /bin/sh is amd64's, and Debian's jemalloc has no profiles
    estimator filter hostile locate_hostile # bounds of processor time
    index_files index_service select_limits symbolizer # did not end, or late"
unable=$(echo "$unable" | sed 's/#.*//')

in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        chroot "$root" "$@"
}
# (emulated COMMAND...): in the Debian, where arm64's programs run by qemu.  Since
# Linux 6.7 a user namespace has a binfmt_misc of its own: nothing of the machine
# changes.  It has all users, which only a process outside of it can give it.  P: a
# program sees the name that it was called by.
emulated() {
    mkfifo "$work/mapped"
    # shellcheck disable=SC2016
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        CK_TIMEOUT_MULTIPLIER=30 unshare --user --mount --pid --fork \
        --kill-child sh -c 'read -r _ <"$1" && cd "$2" && shift 2 && mount -t proc proc proc &&
            mount -t binfmt_misc binfmt_misc mnt && printf %s "$1" > mnt/register &&
            shift && exec chroot . "$@"' - "$work/mapped" "$root" \
        ":arm64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$root/usr/bin/qemu-aarch64-static:PF" \
        "$@" &
    trap 'kill -KILL $!' TERM # unshare does not hear any other
    exec 8>"$work/mapped"     # once it has its namespaces
    rm "$work/mapped"
    echo 0 0 65536 >/proc/$!/uid_map
    echo 0 0 65536 >/proc/$!/gid_map
    echo >&8
    wait $!
}

if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" 2>&1 || {
        tail -n 5 "$work/log"
        exit 1
    }
fi
mkdir -p "$root/src"
git ls-files -z | xargs -0 cp --parents -pu -t "$root/src"
in_root sh -c 'cd /src && sh docker/install.sh cross &&
    cmake --preset arm64 -DHW_BUILD_TESTS=ON && cmake --build --preset arm64' \
    >"$work/log" 2>&1 || {
    tail -n 20 "$work/log"
    exit 1
}
(emulated true) 2>"$work/log" || lacking "no binfmt_misc of its own: $(cat "$work/log")"

# ---- the unit suites ----
(emulated ctest --test-dir /src/build/arm64 -L unit -LE long -j2 --timeout 1500) >"$work/units" 2>&1 || :
contains "units" "tests passed" "$(cat "$work/units")"
for suite in $(sed -n 's/.*Test  *#[0-9]*: unit_\([a-z0-9_]*\) .*\*\*\*.*/\1/p' "$work/units"); do
    # shellcheck disable=SC2086
    case " $(echo $unable) " in
    *" $suite "*) ;;
    *) fault "$suite: neither passed nor is what qemu cannot" ;;
    esac
done

# ---- a node ----
port=$(free_port) redis_port=$(free_port)
in_root rm -rf /root/node
(emulated sh -c 'mkdir /root/node && cd /root/node && bin=/src/build/arm64/bin
    (umask 077; qemu-aarch64-static $bin/heapwire-passwd heapwire.ini admin --privileges all > password)
    exec qemu-aarch64-static -E LD_PRELOAD=/src/build/arm64/lib/libqemu_start.so \
        $bin/heapwire-run --config heapwire.ini --state-dir /root/node/state \
        --listen "127.0.0.1:$1" --http none -- redis-server --port "$2" --save ""' - \
    "$port" "$redis_port") >"$work/node.log" 2>&1 &
node=$!
at_end() {
    kill "$node" 2>/dev/null
}
sql() {
    mariadb --no-defaults -h 127.0.0.1 -P "$port" -u admin \
        -p"$(cat "$root/root/node/password")" -N -B --raw -e "$1" heapwire 2>&1
}
wait_for 120 sql 'SELECT 1' || fault "no node: $(cat "$work/node.log")"
wait_for 120 redis-cli -p "$redis_port" ping
wait_for 60 prof 'has_enable()'
same enabled "instance of HeapProf" "$(prof 'enable_prof()')"
redis-benchmark -p "$redis_port" -n 5000 -r 100000 -d 5000 -P 16 -q -t set,lpush >/dev/null
contains dot 'digraph "/usr/bin/redis-check-rdb' "$(prof 'dump_dot_snapshot()')"
contains "who allocates" _sdsnewlen "$(sql 'SELECT function FROM heap_functions ORDER BY flat_bytes DESC LIMIT 3')"
contains "whose threads" bio_lazy_free "$(sql 'SELECT name FROM threads')"
contains "processor's time" "ERROR 1235" "$(sql "ADMIN EXECUTE ON 10001 'System.print(CpuProf.getInstance().profile(1))'")"
redis-cli -p "$redis_port" shutdown nosave
wait "$node" || fault "heapwire-run ended with $?"
finish_test
