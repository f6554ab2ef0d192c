#!/bin/sh
# symbol_index.sh - a node makes the symbol index of its database; names are
# the same with it and without it, whatever becomes of its file.
. tests/integration/lib/lib.inc

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
    wait_for 60 prof 'has_enable()'
    wait_for 60 [ -e "$work/full" ]
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
# Header, tables and build-id are the kilobyte that a small one has besides.
# of_debug PROGRAM: writes bytes of its .debug_ sections
of_debug() {
    readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\]//' |
        while read -r name _ _ _ size _; do
            case $name in .debug_*) printf '%d\n' "0x$size" ;; esac
        done | awk '{ sum += $1 } END { print sum + 0 }'
}
# at_most_10_percent WHAT COMPILER...: of the program, or library, $work/small
at_most_10_percent() {
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
    [ "$bytes" -le $((debug / 10 + 1024)) ] ||
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
flags="-g -O2 -w -shared -fPIC -D_GNU_SOURCE -Iplugin/base -Iplugin/system
    -Iplugin/memory -Iplugin/agent/common"
for version in 4 5; do
    # shellcheck disable=SC2086
    at_most_10_percent "C, DWARF $version, gcc" \
        gcc $flags -gdwarf-$version plugin/memory/*.c plugin/system/*.c
    # shellcheck disable=SC2086
    ! command -v clang >/dev/null || at_most_10_percent \
        "C, DWARF $version, clang" \
        clang $flags -gdwarf-$version plugin/memory/*.c plugin/system/*.c
    at_most_10_percent "C++, DWARF $version" \
        g++ -g -O2 -gdwarf-$version "$work/main.cc"
done
# shellcheck disable=SC2086
at_most_10_percent "C, not optimised" \
    gcc $flags -O0 plugin/memory/*.c plugin/system/*.c

# ---- symbols only: of what has no debug information ----
# Each object lies twice under one name, in alone and, with its index, in with.
sym=$work/symbols
mkdir -p "$sym/alone" "$sym/with/.debug" "$sym/indexes"
# index_of OBJECT: beside it, what is said in $index_said
index_of() {
    index_status=0
    index_said=$("$bin/heapwire-prof" --index "$1" 2>&1 >/dev/null) ||
        index_status=$?
}
# answers OBJECT ADDRESSES: names, and what is remarked in $work/remarks
answers() {
    "$bin/symbolizer_driver" "$bin/heapwire-symbolizer" "$1" <"$2" \
        2>"$work/remarks"
}
# code_of OBJECT STEP: addresses in all that is loaded to be run
code_of() {
    readelf -lW "$1" | sed -n 's/^ *LOAD \(.*\) R E .*/\1/p' |
        while read -r _ start _ size _; do
            "$python" -c 'import sys
start, size, step = (int(a, 0) for a in sys.argv[1:])
print("\n".join(hex(a) for a in range(start, start + size, step)))' \
                "$start" "$size" "$2"
        done
}
# same_with_index NAME STEP: of the object in both places
same_with_index() {
    code_of "$sym/alone/$1" "$2" >"$work/addresses"
    check
    [ "$(wc -l <"$work/addresses")" -gt 100 ] || fault "$1 has no code"
    answers "$sym/alone/$1" "$work/addresses" >"$work/alone"
    answers "$sym/with/$1" "$work/addresses" >"$work/with"
    check
    cmp "$work/alone" "$work/with" ||
        fault "$1: $(diff "$work/alone" "$work/with" | head -n 6)"
    same "the index of $1 is not remarked upon" "" \
        "$(grep -o ': .*' "$work/remarks")"
    check
    [ -s "$sym/with/$1.hwindex" ] || fault "there is no index of $1"
}
only="has symbols only: it has no debug information"

cat >"$sym/kinds.cc" <<'END'
#include <cstdio>
#include <cstdlib>
#include <string>
namespace {
struct Local {
    __attribute__((noinline)) int in(int n) { return n * rand(); }
};
__attribute__((noinline)) int hidden(int n) { return Local().in(n) + 1; }
} // namespace
template <typename T> struct Weak {
    __attribute__((noinline)) T twice(T n) { return n + n; }
};
static __attribute__((noinline)) int inner(int n) {
    if (__builtin_expect(n == 12345, 0)) {
        std::puts("cold");
        std::abort();
    }
    return n * 3 + hidden(n);
}
extern "C" {
int plain(int n) { return inner(n) + Weak<int>().twice(n); }
int alias(int n) __attribute__((alias("plain")));
int versioned_1(int n) { return n + 1; }
int versioned_2(int n) { return n + 2; }
__asm__(".symver versioned_1, versioned@ONE");
__asm__(".symver versioned_2, versioned@@TWO");
int one(int n) { return n - 1; }
int (*choose(void))(int) { return one; }
int chosen(int) __attribute__((ifunc("choose")));
__attribute__((section("other_text"))) int elsewhere(int n) { return n * 7; }
}
std::string text(const std::string &s) { return s + std::to_string(plain(3)); }
/* Without sizes, types, or a name of its own; inside of another; at an end. */
__asm__(".text\n.p2align 4\n.globl sizeless\nsizeless:\n.skip 40, 0x90\nret\n"
        ".p2align 4\n.globl untyped\n.size untyped, 20\nuntyped:\n"
        ".skip 10, 0x90\n.globl inside\n.type inside, @function\n"
        ".size inside, 4\ninside:\n.skip 30, 0x90\nret\n"
        ".type nobody, @function\n.size nobody, 64\nnobody:\n.skip 64, 0x90\n"
        ".type empty, @function\nempty:\n.skip 16, 0x90\n"
        ".section last_text, \"ax\", @progbits\n.globl beyond\n"
        ".type beyond, @function\n.size beyond, 400\nbeyond:\n.skip 8, 0x90\n"
        ".text\n");
END
printf 'ONE { global: *; };\nTWO { global: versioned; };\n' >"$sym/versions"
g++ -O2 -w -shared -fPIC -Wl,--build-id \
    -Wl,--version-script="$sym/versions" -o "$sym/kinds" "$sym/kinds.cc"
strip -o "$sym/exported" "$sym/kinds"
for object in "$sym/kinds" "$sym/exported" \
    "$(readlink -f /usr/lib/*/libstdc++.so.6)" \
    "$(readlink -f /usr/lib/*/libjemalloc.so.2)"; do
    name=$(basename "$object")
    cp "$object" "$sym/alone/$name"
    cp "$object" "$sym/with/$name"
    index_of "$sym/with/$name"
    same "an index of $name is made" 0 "$index_status"
    # Where its debug package is installed, it is another test.
    case $name in
    lib*) [ -n "$index_said" ] || continue ;;
    esac
    contains "the log names it" "the index of $sym/with/$name $only" "$index_said"
    same "in one line" 1 "$(printf '%s\n' "$index_said" | wc -l)"
    case $name in lib*) step=3 ;; *) step=1 ;; esac
    same_with_index "$name" "$step"
done
same "names of all kinds" "alias
beyond
chosen
elsewhere
hidden
inner
inside
nobody
sizeless
untyped
versioned" "$(code_of "$sym/with/kinds" 1 >"$work/addresses"
    answers "$sym/with/kinds" "$work/addresses" |
        sed -n 's/^(anonymous namespace):://; s/(int)$//
            /^\(alias\|beyond\|chosen\|elsewhere\|hidden\|inner\|inside\|nobody\|sizeless\|untyped\|versioned\)$/p' |
        sort -u)"

# It is the index that answers: of what was stripped it knows more.
mkdir "$sym/fuller"
cp "$sym/exported" "$sym/fuller/exported"
cp "$sym/with/kinds.hwindex" "$sym/fuller/exported.hwindex"
nm "$sym/kinds" | sed -n 's/ t nobody$//p' >"$work/addresses"
contains "a name that was stripped" nobody \
    "$(answers "$sym/fuller/exported" "$work/addresses")"
truncate -s -1 "$sym/fuller/exported.hwindex"
same "and no name is known then" 0 \
    "$(answers "$sym/fuller/exported" "$work/addresses" | grep -c nobody || true)"
contains "it is refused" "its symbol index is unusable" "$(cat "$work/remarks")"

# Found by build-id, too.
"$bin/heapwire-prof" --index --symbols="$sym/indexes" "$sym/exported" \
    >"$work/index.log" 2>&1 || fault "$(cat "$work/index.log")"
same "an index by build-id" 1 "$(find "$sym/indexes" -name '*.hwindex' | wc -l)"

# Nothing to be said of: an error, and no file.
echo 'int main(void) { return 0; }' >"$sym/main.c"
gcc -s -Wl,--build-id -o "$sym/nothing" "$sym/main.c"
index_of "$sym/nothing"
same "without a symbol it is refused" 1 "$index_status"
contains "why" "no index of $sym/nothing: it has no debug information, and no \
split debug file with it is found, and no symbols of its code" \
    "$index_said"
check
[ ! -e "$sym/nothing.hwindex" ] || fault "there is an index of nothing"

# The debug file comes later: the index hides nothing of it, whether the object
# has kept its symbols or not.
g++ -O2 -g -shared -fPIC -Wl,--build-id -o "$sym/late.whole" "$work/main.cc"
objcopy --only-keep-debug "$sym/late.whole" "$sym/late.debug"
for strip in "strip -g" strip; do
    for place in alone with; do
        $strip -o "$sym/$place/late" "$sym/late.whole"
        (cd "$sym" && objcopy --add-gnu-debuglink=late.debug "$place/late")
    done
    index_of "$sym/with/late"
    contains "$strip: its debug file is missing" "$only" "$index_said"
    same_with_index late 1
    for place in alone with; do
        mkdir -p "$sym/$place/.debug"
        cp "$sym/late.debug" "$sym/$place/.debug/late.debug"
    done
    answers "$sym/alone/late" "$work/addresses" >"$work/alone"
    answers "$sym/with/late" "$work/addresses" >"$work/with"
    check
    cmp "$work/alone" "$work/with" || fault "$strip: the debug file is hidden"
    check
    grep -q 'main.cc:[0-9]' "$work/with" || fault "$strip: there are no lines"
    contains "$strip: it is told" "its symbol index is unusable: it has \
symbols only, and there is debug information" "$(cat "$work/remarks")"
    index_of "$sym/with/late"
    same "$strip: the index has it now" "0 " "$index_status $index_said"
    rm -r "$sym/alone/.debug" "$sym/with/.debug"
    answers "$sym/with/late" "$work/addresses" >"$work/with"
    check
    cmp "$work/alone" "$work/with" ||
        fault "$strip: the index has less than DWARF"
    same "$strip: no remark" "" "$(grep -o ': .*' "$work/remarks")"
done

# Or it has symbols only, of which the object was stripped.
objcopy --only-keep-debug "$sym/kinds" "$sym/poor.debug"
mkdir "$sym/alone/.debug" "$sym/with/.debug"
for place in alone with; do
    (cd "$sym" && objcopy --add-gnu-debuglink=poor.debug exported "$place/poor")
done
index_of "$sym/with/poor"
same_with_index poor 1
cp "$work/with" "$work/exported"
cp "$sym/poor.debug" "$sym/alone/.debug"
cp "$sym/poor.debug" "$sym/with/.debug"
# Whether it was made of them, too, is not known.
for made in before after; do
    answers "$sym/alone/poor" "$work/addresses" >"$work/alone"
    answers "$sym/with/poor" "$work/addresses" >"$work/with"
    check
    cmp "$work/alone" "$work/with" || fault "made $made: other names"
    check
    ! cmp -s "$work/with" "$work/exported" ||
        fault "made $made: the later symbols are hidden"
    contains "made $made: it is told" "its symbol index is unusable: it has \
symbols only, and there is a debug file with symbols" "$(cat "$work/remarks")"
    index_of "$sym/with/poor"
    contains "made anew" "$only" "$index_said"
done
# Where that debug file is not, the index has its symbols.
rm -r "$sym/with/.debug"
same_with_index poor 1

# ---- made ----
start
names >"$work/first"
check
[ "$(grep -c 'load.cc:[0-9]' "$work/first")" -ge 3 ] ||
    fault "by DWARF: $(cat "$work/first")"
wait_for 60 has_made 1 || log
same "its state" "load	ready	1	1	1	" \
    "$(sql "select object, state, build_id = '$id', made >= now() - interval 60
        second, debug_bytes > 5000000, note from heapwire.symbol_indexes
        where build_id = '$id'")"
same "its bytes" "$(stat -c %s "$index")" \
    "$(sql "select bytes from heapwire.symbol_indexes where build_id = '$id'")"
same "its owner's alone" "600 700" \
    "$(stat -c %a "$index" "$(dirname "$index")" | tr '\n' ' ' | sed 's/ $//')"
contains "the log" " bytes, " "$(log | grep 'made the symbol index of load ')"
same "the settings" "symbols.index	on	0
symbols.keep_bytes	1073741824	0
symbols.memory	268435456	0
symbols.debuginfod_urls		0
symbols.debuginfod_timeout	120	0" \
    "$(sql "select * from heapwire.settings where name like 'symbols.%'")"

# ---- used ----
restart
same "found again" "NULL ready" "$(sql \
    "select concat(coalesce(object, 'NULL'), ' ', state)
    from heapwire.symbol_indexes where build_id = '$id'")"
same_names "names by the index"
same "of which object, and when" "load	ready	1" "$(sql "select object, state,
    last_used >= now() - interval 60 second from heapwire.symbol_indexes
    where build_id = '$id'")"
same "not made again" 1 "$(made)"
same "no complaint" 0 "$(log | grep -c 'of load was refused' || true)"

# ---- spoiled: the answers stay right, and it is made again ----
count=1
for spoil in \
    'printf XXXXXXXX | dd of="$index" bs=1 seek=4 conv=notrunc' \
    'printf "\\003" | dd of="$index" bs=1 seek=8 conv=notrunc' \
    'printf "\\004\\0\\001" | dd of="$index" bs=1 seek=8 conv=notrunc' \
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
    wait_for 60 has_made "$count" || fault "not made again: $spoil: $(log)"
    same "complaints" $((count - 1)) "$(log | grep -c 'of load was refused' || true)"
    restart
    same_names "names by the new one"
    same "which is whole" ready "$(state)"
done

for format in '3' '4 (packed)'; do
    contains "a file of another format is refused by it" "its format is \
$format, but only format 4 can be read: make it again with heapwire-prof --index" \
        "$(log)"
done

# ---- what is no file of ours is left alone ----
mv "$index" "$work/moved.hwindex"
ln -s "$work/moved.hwindex" "$index"
restart
contains "the log names a link" "$id.hwindex is skipped: it is a symbolic link" "$(log)"
same_names "names beside a link"
wait_for 60 is_state failed || sql 'select * from heapwire.symbol_indexes'
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
    wait_for 60 is_state failed || sql 'select * from heapwire.symbol_indexes'
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
    echo "skipped: the full disk (nothing can be mounted here)"
fi

# ---- shipped beside a program without debug information ----
rm -rf "$work/node"
strip -o "$work/stripped" "$work/load"
"$bin/heapwire-prof" --index "$work/load" || fault "no index is made"
mv "$work/stripped" "$work/load"
start
same_names "names of a stripped program"
same "its state" shipped "$(state)"

# ---- and skipped there: names are poor, and the log says why ----
mv "$work/load.hwindex" "$work/moved.hwindex"
ln -s "$work/moved.hwindex" "$work/load.hwindex"
restart
same "a snapshot" poor "$(prof 'snapshot("poor")')"
passed="its symbol index load.hwindex is skipped: it is a symbolic link"
contains "the snapshot's note" "$passed" \
    "$(sql "select note from heapwire.snapshots where name = 'poor'")"
wait_for 60 is_state failed || sql 'select * from heapwire.symbol_indexes'
contains "the index's note" "; $passed" "$(note)"
same "it is logged once" 1 "$(log | grep -c "$passed")"
stop_node

# ---- on a disk that hangs: the end does not wait for it ----
# open() of FILE waits for ever, as long as this runs.
cat >"$work/hang.py" <<'END'
import ctypes
import os
import select
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
CONTENT, ADD, OPEN_PERM, AT_FDCWD = 4, 1, 0x10000, -100
fd = libc.fanotify_init(CONTENT, os.O_RDONLY)
if fd < 0 or libc.fanotify_mark(fd, ADD, ctypes.c_uint64(OPEN_PERM), AT_FDCWD,
                                sys.argv[1].encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("hangs", flush=True)
select.select([fd], [], [])
print("asked", flush=True)
time.sleep(1000)
END
rm -rf "$work/load.hwindex" "$work/node"
cp "$work/moved.hwindex" "$work/load.hwindex"
"$python" "$work/hang.py" "$work/load.hwindex" >"$work/hang.log" 2>&1 &
hang=$!
pids="$pids $hang"
wait_for 60 test -s "$work/hang.log"
if grep -q hangs "$work/hang.log"; then
    start
    names >/dev/null 2>&1 &
    asks=$!
    wait_for 60 grep -q asked "$work/hang.log"
    began=$(milliseconds)
    stop_node
    took=$(($(milliseconds) - began))
    [ "$took" -lt 60000 ] || # else it never would
        fault "it took $took ms to end"
    check
    contains "why" "ends although one thread has not" "$(log)"
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
[ ! -e "$work/node/unwind" ] || fault "there is a directory of unwind tables"
stop_node

finish_test
