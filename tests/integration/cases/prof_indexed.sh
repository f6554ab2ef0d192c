#!/bin/sh
# prof_indexed.sh - heapwire-prof reads symbol indexes itself: every form of a
# profile is as without them, byte for byte, and whatever becomes of an index,
# no name is wrong.
. tests/integration/lib/lib.inc

prof=$bin/heapwire-prof

# ---- a program, a library that is stripped of all, and one of symbols ----
cat >"$work/kinds.cc" <<'END'
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#define KEPT __attribute__((noinline, noclone, used))
volatile int sink;
namespace {
struct Hidden {
    KEPT int in(int n) { return n * sink + 1; }
};
KEPT int hidden(int n) { return Hidden().in(n) + sink; }
} // namespace
struct Value {
    int n;
    KEPT bool operator<(const Value &o) const { sink = n; return n < o.n; }
    KEPT Value *operator->() { sink++; return this; }
    KEPT int operator()(int k) const { sink += k; return n; }
    KEPT Value &operator<<(int k) { n <<= k; sink++; return *this; }
    KEPT operator std::string() const { sink--; return std::to_string(n); }
};
template <char> struct Byte {};
template <char c> KEPT int byte(Byte<c>) { return sink += c; }
template <int n> KEPT int hex(int k) { sink = k * n; return sink; }
template <typename T> KEPT T both(T n) { sink = (int)n; return n + n; }
static KEPT int same(int n) { return n + sink; }
static KEPT int same(long n) { return (int)n * sink; }
KEPT int same(const char *s) { return *s ^ sink; }
KEPT int same(Value v) { return v.n | sink; }
static inline int folded(int n) { return hidden(n) * 3 + sink; }
template <int n> KEPT int step(int k)
{
    std::vector<std::string> list;
    std::map<Value, int> map;
    auto each = [&](int m) __attribute__((noinline)) { sink += m; return m; };
    auto any = [&](auto m) __attribute__((noinline)) { sink -= m; return m; };
    std::function<int(int)> kept = [k](int m) { return m * k + sink; };

    for (int i = 0; i < k % 4; i++)
        list.push_back(std::to_string(i + n));
    map[Value{k}] = folded(n);
    sink = each(k) + any(k) + kept(n) + hex<n>(k) + both(k) + both((long)k);
    if (__builtin_expect(k == 4711, 0)) {
        std::puts("cold");
        std::abort();
    }
    return (int)list.size() + byte(Byte<(char)(n % 100 + 30)>()) + map.size();
}
template <int... n> static KEPT int steps(std::integer_sequence<int, n...>)
{
    int sum = 0;
    ((sum += step<n>(sum)), ...);
    return sum;
}
int run_all(int n)
{
    Value v{n};
    std::string text = v;
    return steps(std::make_integer_sequence<int, 32>()) + same(n) +
           same((long)n) + same("x") + same(v) + v->n + v(n) +
           (v << 2).n + (int)text.size();
}
#ifdef PROGRAM
int main(int count, char **) { return run_all(count); }
#endif
END
here=$work/here
mkdir "$here" "$work/bare" "$work/whole" "$work/indexes"
# made FLAGS... OBJECT
made() {
    g++ -std=c++17 -w -g -O2 -Wl,--build-id "$work/kinds.cc" -o "$@"
}
made "$here/program" -no-pie -DPROGRAM
made "$work/whole/libstripped.so" -shared -fPIC
made "$work/whole/libsymbols.so" -shared -fPIC -O1
strip -o "$work/bare/libstripped.so" "$work/whole/libstripped.so"
strip -g -o "$work/bare/libsymbols.so" "$work/whole/libsymbols.so"
cp "$work"/whole/* "$here"

# A profile of so many addresses in and behind the code of objects, and in none.
cat >"$work/heaps.py" <<'END'
import random
import re
import subprocess
import sys

out, most, objects = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
random.seed(most)
addresses, maps = [], []
for n, path in enumerate(objects):
    base = 0x7F0000000000 + n * 0x10000000 if n else 0
    said = subprocess.run(["readelf", "-lW", path], capture_output=True,
                          text=True).stdout
    for line in re.findall(r"^ *LOAD +(.* R E .*)$", said, re.M):
        part = line.split()
        offset, start, size = (int(part[i], 0) for i in (0, 1, 3))
        end = (start + size + 4095) // 4096 * 4096
        addresses += [base + a for a in range(start, start + size, 3)]
        addresses += [base + a for a in range(start + size, end, 97)]
        maps.append("%x-%x r-xp %x 08:01 %d %s"
                    % (base + start, base + end, offset, n + 1, path))
random.shuffle(addresses)
addresses = [0x10, 0x7E0000000000, 0x7F00F0000000][:most // 3] + addresses
addresses = addresses[:most]
with open(out, "w") as heap:
    def write(count):
        heap.write("  t*: %d: %d [0: 0]\n" % (count, count * 4096))
    heap.write("heap_v2/524288\n")
    write(len(addresses))
    for leaf in addresses:
        depth = random.randrange(1, 7)
        stack = [leaf] + [random.choice(addresses) for _ in range(depth)]
        heap.write("@ %s\n" % " ".join(hex(a) for a in stack))
        write(random.randrange(1, 9))
    heap.write("\nMAPPED_LIBRARIES:\n%s\n" % "\n".join(maps))
END
heap() {
    "$python" "$work/heaps.py" "$work/$1.heap" "$2" "$here/program" \
        "$here/libstripped.so" "$here/libsymbols.so"
}
heap large 4000
heap middle 700
heap small 20
heap one 1

# ---- every form, with indexes and without ----
ways="functions:
lines:--lines
files:--files
addresses:--addresses
focus:--focus=step
ignore:--ignore=operator|hex
base:--base=$work/middle.heap
both:--lines,--base=$work/small.heap
objects:--inuse_objects"
# show DIRECTORY: each of $forms in each of $ways of each of $heaps
forms="dot text top tree collapsed flamegraph raw pprof"
heaps="large small one"
show() {
    mkdir -p "$1"
    for heap in $heaps; do
        for form in $forms; do
            for way in $ways; do
                case $form$way in raw*base=*) continue ;; esac # it has none
                out=$1/$heap.$form.${way%%:*}
                status=0
                # shellcheck disable=SC2046
                "$prof" "--$form" --nodecount=100000 --nodefraction=0 \
                    --edgefraction=0 --maxdegree=100000 \
                    $(echo "${way#*:}" | tr , ' ') "$here/program" \
                    "$work/$heap.heap" >"$out" 2>"$out.said" || status=$?
                [ "$status" = 0 ] || fault "$out: $(cat "$out.said")"
            done
        done
    done
}
# same_files WHAT DIRECTORY DIRECTORY
same_files() {
    for file in "$2"/*; do
        case $file in *.said) continue ;; esac
        check
        cmp -s "$file" "$3/${file##*/}" || fault "$1: ${file##*/}: \
$(diff -a "$file" "$3/${file##*/}" | cut -c 1-200 | head -n 6)"
    done
}
show "$work/by_dwarf"
for object in program libstripped.so libsymbols.so; do
    "$prof" --index "$here/$object" >/dev/null
done
mv "$here"/*.hwindex "$work/indexes"
# beside DIRECTORY: whose indexes lie beside the objects
beside() {
    rm -f "$here"/*.hwindex
    cp "$1"/*.hwindex "$here"
}
beside "$work/indexes"
# Of what was stripped only the indexes know.
cp "$work"/bare/* "$here"
show "$work/by_index"
same_files "by indexes" "$work/by_dwarf" "$work/by_index"
text=$(cat "$work/by_index/large.text.functions")
contains "it is a profile" " step" "$text"
contains "functions of one name are told apart" " same@" "$text"
contains "what is in no object is an address" " 0x7e0000000000" "$text"
same "nothing is remarked" "" "$(grep -h index "$work"/by_index/*.said || true)"

# ---- the helper is started before it is needed, or not at all ----
mkdir "$work/watched"
cp "$prof" "$work/watched/heapwire-prof"
printf '#!/bin/sh\necho >"%s"\nexec "%s" "$@"\n' "$work/started" \
    "$bin/heapwire-symbolizer" >"$work/watched/heapwire-symbolizer"
chmod +x "$work/watched/heapwire-symbolizer"
code=$(nm "$here/program" | sed -n 's/ T _Z7run_alli$//p')
{
    printf 'heap_v2/524288\n@ 0x%s\n  t*: 1: 8 [0: 0]\n\n' "$code"
    sed -n '/^MAPPED/,$p' "$work/one.heap"
} >"$work/own.heap"
# starts: whether the helper is started for a profile of the program alone
starts() {
    rm -f "$work/started"
    "$work/watched/heapwire-prof" --text "$1" "$work/own.heap" >"$work/out" \
        2>"$work/said"
    contains "the name by $1" run_all "$(cat "$work/out")"
    [ ! -e "$work/started" ] || echo started
}
ln -s "$here/program" "$work/link"
same "with an index beside" "" "$(starts "$here/program")"
same "with an index beside, by a link" "" "$(starts "$work/link")"
rm "$here/program.hwindex"
same "without one" started "$(starts "$here/program")"
beside "$work/indexes"

# ---- on one core ----
ways="functions:
lines:--lines"
heaps=large
whole=$prof
prof=$work/one_core
printf '#!/bin/sh\nexec taskset -c 0 "%s" "$@"\n' "$whole" >"$prof"
chmod +x "$prof"
show "$work/by_one"
prof=$whole
same_files "on one core" "$work/by_one" "$work/by_dwarf"

# ---- what is wrong with indexes: the helper, and why ----
forms="text collapsed raw"
cp "$work"/whole/* "$here" # so that DWARF has all
spoiled() { # WHAT WORDS: what is beside the objects now
    rm -rf "$work/spoiled"
    show "$work/spoiled"
    same_files "$1" "$work/spoiled" "$work/by_dwarf"
    [ -z "$2" ] || contains "$1 is told" "$2" "$(cat "$work"/spoiled/*.said)"
}
for spoil in 'truncate -s -20' 'truncate -s 300' 'truncate -s 0' \
    'dd if=/dev/zero bs=1 seek=8 count=1 conv=notrunc,notrunc status=none of=' \
    'cp libsymbols.so.hwindex'; do
    beside "$work/indexes"
    case $spoil in
    *of=) $spoil"$here/program.hwindex" ;;
    cp*) cp "$here/libsymbols.so.hwindex" "$here/program.hwindex" ;;
    *) $spoil "$here/program.hwindex" ;;
    esac
    spoiled "$spoil" "program: its symbol index is unusable"
done
# Some blocks of it: the helper reads what else knows them.
beside "$work/indexes"
"$python" - "$here/program.hwindex" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(len(data) // 2, len(data), 20000):
    data[at] ^= 255
open(sys.argv[1], "wb").write(data)
END
spoiled "damaged blocks" "damaged"

# ---- cut and restored, again and again, while it is read ----
beside "$work/indexes"
cat >"$work/cut.py" <<'END'
import os
import random
import sys
data = open(sys.argv[2], "rb").read()
fd = os.open(sys.argv[1], os.O_RDWR)
while True:
    at = random.randrange(len(data))
    os.ftruncate(fd, at)
    os.pwrite(fd, data[at:], at)
    os.pwrite(fd, bytes(64), at)
    os.pwrite(fd, data[at:at + 64], at)
END
"$python" "$work/cut.py" "$here/program.hwindex" \
    "$work/indexes/program.hwindex" &
cuts=$!
pids="$pids $cuts"
# Half of a function may come from DWARF then, and each half has its own first
# place, which is called as its symbol is: see addr2line_names.h.
functions() {
    sed 's/ [0-9]*$//' "$1" | tr ';' '\n' | sed 's/\[inline\]$//' | sort -u
}
functions "$work/by_dwarf/large.collapsed.functions" >"$work/right"
forms=collapsed ways=functions:
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    rm -rf "$work/spoiled"
    show "$work/spoiled"
    functions "$work/spoiled/large.collapsed.functions" >"$work/names"
    same "names of one that is cut, $i" "" \
        "$(comm -23 "$work/names" "$work/right" | grep -v '^program+0x' || true)"
    check
    [ "$(comm -12 "$work/names" "$work/right" | wc -l)" -gt 200 ] ||
        fault "there are few: $(head "$work/names")"
done
forms="text collapsed raw" ways="functions:
lines:--lines"
kill "$cuts"
wait "$cuts" 2>/dev/null || true

# ---- of symbols only, and debug information that came later ----
cp "$work"/bare/* "$here"
beside "$work/indexes"
objcopy --only-keep-debug "$work/whole/libstripped.so" "$work/late.debug"
(cd "$work" && objcopy --add-gnu-debuglink=late.debug here/libstripped.so)
rm "$here/libstripped.so.hwindex"
"$prof" --index "$here/libstripped.so" >/dev/null 2>"$work/said"
contains "it has symbols only" "has symbols only" "$(cat "$work/said")"
show "$work/poor"
check
! cmp -s "$work/poor/large.text.lines" "$work/by_dwarf/large.text.lines" ||
    fault "there is no difference"
for place in . .debug; do
    mkdir -p "$here/$place"
    cp "$work/late.debug" "$here/$place/late.debug"
    spoiled "a debug file in $place" "its symbol index is unusable: it has \
symbols only, and there is debug information"
    rm "$here/$place/late.debug"
done

# By its build-id, in a /usr/lib/debug of our own.
id=$(readelf -n "$here/libstripped.so" | sed -n 's/.*Build ID: //p')
prof=$work/mounted
printf '%s\n' '#!/bin/sh' 'set -e' 'mount -t tmpfs none /usr/lib/debug' \
    "by_id=/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)" \
    'mkdir -p "$by_id"' \
    "cp $work/late.debug \$by_id/$(echo "$id" | cut -c 3-).debug" \
    "exec $whole \"\$@\"" >"$work/mount"
printf '#!/bin/sh\nexec unshare -m sh "%s" "$@"\n' "$work/mount" >"$prof"
chmod +x "$prof"
why="no /usr/lib/debug"
if [ -d /usr/lib/debug ] && why=$("$prof" --version 2>&1); then
    spoiled "a debug file by build-id" "its symbol index is unusable: it has \
symbols only, and there is debug information"
else
    echo "skipped: a debug file by build-id (no mounts of our own: $why)"
fi
finish_test
