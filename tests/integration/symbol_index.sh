#!/bin/sh
# symbol_index.sh - a node makes the symbol index of its database; names are
# the same with it and without it, whatever becomes of its file.
. tests/integration/lib.inc

# By file and line, which DWARF alone knows; of a heap that does not change.
names() {
    sql "ADMIN EXECUTE ON 10001 'System.print(Profile.now()
        .granularity(\"lines\").collapsed())'" | sed 's/ [0-9]*$//' | sort
}
# same_names WHAT
same_names() {
    check
    names >"$work/names"
    cmp -s "$work/first" "$work/names" && return
    fault "$1: $(diff "$work/first" "$work/names" | cut -c 1-300 | head -n 4)"
}
log() {
    cat "$work/node/heapwired.log"
}
made() { # how many indexes
    log | grep -c 'made the symbol index of load ' || true
}
has_made() {
    [ "$(made)" -ge "$1" ]
}
state() {
    sql "select state from heapwire.symbol_indexes where build_id = '$id'"
}
note() {
    sql "select note from heapwire.symbol_indexes where build_id = '$id'"
}
is_state() {
    [ "$(state)" = "$1" ]
}
start() {
    rm -f "$work/full"
    start_node "$work/load"
    wait_for 10 prof 'has_enable()'
    wait_for 20 [ -e "$work/full" ]
}
# What names are known is forgotten; indexes are not.
restart() {
    stop_node
    start
}

cat >"$work/load.cc" <<'END'
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace {
template <typename Key> struct Table {
    std::map<Key, std::vector<std::string>> rows;
    void put(const Key &key, int n) {
        auto &row = rows[key];
        std::function<void(int)> add = [&](int i) {
            row.push_back(std::string(1000 + i, 'x'));
        };
        for (int i = 0; i < n; i++)
            add(i);
    }
};
Table<int> numbers;
Table<std::string> words;
std::vector<std::unique_ptr<std::string>> texts;

__attribute__((noinline)) void fill(int i) {
    texts.push_back(std::make_unique<std::string>(500, 'y'));
    numbers.put(i, 20);
    words.put(*texts.back() + std::to_string(i), 10);
}
} // namespace

int main() {
    for (int i = 0; i < 100; i++)
        fill(i);
    creat(getenv("FULL"), 0600);
    for (;;)
        pause();
}
END
g++ -std=c++17 -O2 -g -Wl,--build-id -o "$work/plain" "$work/load.cc"
# As much debug information as makes one worth an index.
head -c 5000000 /dev/zero >"$work/pad"
objcopy --add-section .debug_pad="$work/pad" "$work/plain" "$work/load"
id=$(readelf -n "$work/load" | sed -n 's/.*Build ID: //p')
index=$work/node/symbols/$id.hwindex
export FULL="$work/full" MALLOC_CONF=prof_active:true,lg_prof_sample:0

# ---- small beside the debug information ----
# Of less than some 30 KB of it an index cannot be 6 %: names and the build-id
# alone are more.
# of_debug PROGRAM: writes bytes of its .debug_ sections
of_debug() {
    readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\]//' |
        while read -r name _ _ _ size _; do
            case $name in .debug_*) printf '%d\n' "0x$size" ;; esac
        done | awk '{ sum += $1 } END { print sum + 0 }'
}
# at_most_6_percent WHAT COMPILER...: of the program, or library, $work/small
at_most_6_percent() {
    what=$1
    shift
    "$@" -Wl,--build-id -o "$work/small" || fault "$what does not build"
    rm -f "$work/small.hwindex"
    "$bin/heapwire-prof" --index "$work/small" >"$work/index.log" 2>&1 ||
        fault "no index of $what: $(cat "$work/index.log")"
    debug=$(of_debug "$work/small")
    bytes=$(stat -c %s "$work/small.hwindex")
    check
    [ "$debug" -gt 10000 ] || fault "$what has $debug bytes of debug information"
    check
    [ $((bytes * 100)) -le $((debug * 6)) ] ||
        fault "the index of $what has $bytes bytes, debug sections $debug"
}
cat >"$work/main.cc" <<'END'
#include <iostream>
#include <map>
#include <string>
int main(int n, char **texts) {
    std::map<std::string, int> lengths;
    for (int i = 0; i < n; i++)
        lengths[texts[i]] += i;
    for (auto &length : lengths)
        std::cout << length.first << length.second << std::endl;
}
END
flags="-g -O2 -w -shared -fPIC -D_GNU_SOURCE -Iplugin/base"
for version in 4 5; do
    # shellcheck disable=SC2086
    at_most_6_percent "C, DWARF $version, gcc" \
        gcc $flags -gdwarf-$version plugin/base/*.c
    # shellcheck disable=SC2086
    ! command -v clang >/dev/null || at_most_6_percent \
        "C, DWARF $version, clang" \
        clang $flags -gdwarf-$version plugin/base/*.c
    at_most_6_percent "C++, DWARF $version" \
        g++ -g -O2 -gdwarf-$version "$work/main.cc"
done
# shellcheck disable=SC2086
at_most_6_percent "C, not optimised" \
    gcc $flags -O0 plugin/base/*.c

# ---- made ----
start
names >"$work/first"
check
[ "$(grep -c 'load.cc:[0-9]' "$work/first")" -ge 3 ] ||
    fault "by DWARF: $(cat "$work/first")"
wait_for 30 has_made 1 || log
same "its state" "load	ready	1	1	1	" \
    "$(sql "select object, state, build_id = '$id', made >= now() - interval 60
        second, debug_bytes > 5000000, note from heapwire.symbol_indexes
        where build_id = '$id'")"
same "its bytes" "$(stat -c %s "$index")" \
    "$(sql "select bytes from heapwire.symbol_indexes where build_id = '$id'")"
same "nobody else's" "600 700" \
    "$(stat -c %a "$index" "$(dirname "$index")" | tr '\n' ' ' | sed 's/ $//')"
contains "the log" " bytes, " "$(log | grep 'made the symbol index of load ')"
same "the settings" "symbols.index	on	0
symbols.keep_bytes	1073741824	0
symbols.memory	268435456	0" \
    "$(sql "select * from heapwire.settings where name like 'symbols.%'")"

# ---- used ----
restart
same "found again" "NULL ready" "$(sql \
    "select concat(coalesce(object, 'NULL'), ' ', state)
    from heapwire.symbol_indexes where build_id = '$id'")"
same_names "names by the index"
same "of whom, and when" "load	ready	1" "$(sql "select object, state,
    last_used >= now() - interval 60 second from heapwire.symbol_indexes
    where build_id = '$id'")"
same "not made again" 1 "$(made)"
same "no complaint" 0 "$(log | grep -c 'of load was refused' || true)"

# ---- spoiled: the answers stay right, and it is made again ----
count=1
for spoil in \
    'printf XXXXXXXX | dd of="$index" bs=1 seek=4 conv=notrunc' \
    'printf "\\001" | dd of="$index" bs=1 seek=8 conv=notrunc' \
    'truncate -s -20 "$index"' \
    'truncate -s 0 "$index"' \
    'head -c 100000 /dev/urandom >"$index"' \
    'cat "$work/other.hwindex" >"$index"'; do
    case $spoil in *other*)
        g++ -O2 -g -Wl,--build-id -o "$work/other" -x c++ - <<'END'
int main() { return 1; }
END
        "$bin/heapwire-prof" --index "$work/other" || fault "no index of other"
        ;;
    esac
    eval "$spoil" 2>"$work/spoil.log" || fault "$spoil: $(cat "$work/spoil.log")"
    restart
    same_names "names after: $spoil"
    count=$((count + 1))
    wait_for 30 has_made "$count" || fault "not made again: $spoil: $(log)"
    same "complaints" $((count - 1)) "$(log | grep -c 'of load was refused' || true)"
    restart
    same_names "names by the new one"
    same "which is whole" ready "$(state)"
done

# ---- what is no file of ours is left alone ----
mv "$index" "$work/moved.hwindex"
ln -s "$work/moved.hwindex" "$index"
restart
contains "a link is told" "$id.hwindex is passed over: it is a symbolic link" "$(log)"
same_names "names beside a link"
wait_for 30 is_state failed || sql 'select * from heapwire.symbol_indexes'
contains "why" "is in the way: it is a symbolic link" \
    "$(note)"
check
[ -L "$index" ] || fault "the link is gone"
rm "$index"
stop_node

# ---- a full disk ----
rm -rf "$work/node"
mkdir -m 700 "$work/node"
if mount -t tmpfs -o size=4m,mode=700 none "$work/node" 2>/dev/null; then
    at_end() {
        umount -l "$work/node"
    }
    head -c 3800000 /dev/zero >"$work/node/ballast"
    start
    same_names "names without room"
    wait_for 30 is_state failed || sql 'select * from heapwire.symbol_indexes'
    contains "why" "of its room left" \
        "$(note)"
    contains "in the log" "no symbol index of load was made: " "$(log)"
    same "nothing is left" "" "$(ls "$work/node/symbols")"
    same "a snapshot is kept" full "$(prof 'snapshot("full")')"
    stop_node
    umount -l "$work/node"
    at_end() {
        :
    }
else
    echo "no tmpfs: the full disk is left to the unit tests"
fi

# ---- shipped beside a program without debug information ----
rm -rf "$work/node"
strip -o "$work/stripped" "$work/load"
"$bin/heapwire-prof" --index "$work/load" || fault "no index is made"
mv "$work/stripped" "$work/load"
start
same_names "names of a stripped program"
same "its state" shipped "$(state)"

# ---- and passed over there: names are poor, and why is told ----
mv "$work/load.hwindex" "$work/moved.hwindex"
ln -s "$work/moved.hwindex" "$work/load.hwindex"
restart
same "a snapshot" poor "$(prof 'snapshot("poor")')"
passed="its symbol index load.hwindex is passed over: it is a symbolic link"
contains "the snapshot's note" "$passed" \
    "$(sql "select note from heapwire.snapshots where name = 'poor'")"
wait_for 30 is_state failed || sql 'select * from heapwire.symbol_indexes'
contains "the index's note" "; $passed" "$(note)"
same "it is logged once" 1 "$(log | grep -c "$passed")"
stop_node

# ---- on a disk that hangs: the end does not wait for it ----
# open() of FILE waits for ever, as long as this runs.
cat >"$work/hang.py" <<'END'
import ctypes
import os
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
CONTENT, ADD, OPEN_PERM, AT_FDCWD = 4, 1, 0x10000, -100
fd = libc.fanotify_init(CONTENT, os.O_RDONLY)
if fd < 0 or libc.fanotify_mark(fd, ADD, ctypes.c_uint64(OPEN_PERM), AT_FDCWD,
                                sys.argv[1].encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("hangs", flush=True)
time.sleep(1000)
END
rm -rf "$work/load.hwindex" "$work/node"
cp "$work/moved.hwindex" "$work/load.hwindex"
"$python" "$work/hang.py" "$work/load.hwindex" >"$work/hang.log" 2>&1 &
hang=$!
pids="$pids $hang"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s "$work/hang.log" ] || sleep 0.2
done
if grep -q hangs "$work/hang.log"; then
    start
    names >/dev/null 2>&1 &
    asks=$!
    sleep 2
    began=$(milliseconds)
    stop_node
    took=$(($(milliseconds) - began))
    [ "$took" -lt 4900 ] || fault "it took $took ms to end"
    check
    contains "why" "ends without a thread that does not" "$(log)"
    wait "$asks" || true
else
    echo "no file can be made to hang: $(cat "$work/hang.log")"
fi
kill "$hang" 2>/dev/null || true
wait "$hang" 2>/dev/null || true

# ---- off ----
rm -rf "$work/node" "$work/load.hwindex"
mv "$work/plain" "$work/load"
printf '[node]\nlisten = none\n[symbols]\nindex = off\n' >"$work/conf"
chmod 600 "$work/conf"
node_options="--config $work/conf"
start
same_names "names without indexes"
same "none is made" 0 "$(sql 'select count(*) from heapwire.symbol_indexes')"
check
[ ! -e "$work/node/symbols" ] || fault "there is a directory of indexes"
stop_node

finish_test
