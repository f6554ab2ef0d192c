#!/bin/sh
# symbolizer.sh - names and lines as llvm-symbolizer gives them, on real objects:
# compilers, DWARF versions, split debug files, stripped and deleted files.
set -eu

BUILD=${BUILD:-build/release}
HERE=tests/integration/programs
DRIVER="$BUILD/bin/symbolizer_driver"
HELPER="$BUILD/bin/heapwire-symbolizer"
PROF="$BUILD/bin/heapwire-prof"
TMP=$(mktemp -d)
INSTALLED=
trap 'rm -rf "$TMP"; [ -z "$INSTALLED" ] || rm -f "$INSTALLED"' EXIT
trap 'exit 1' INT TERM

fail() {
    echo "symbolizer.sh: $*" >&2
    exit 1
}

compare() {
    python3 "$HERE/symbolizer_compare.py" "$BUILD" "$@" || fail "compare $*"
}

# name OBJECT ADDRESS [PATH]: the innermost function
name() {
    echo "$2" | "$DRIVER" "$HELPER" "$1" ${3:+"$3"} 2>/dev/null | sed -n 2p
}

address_of() {
    nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1; exit }'
}

cat >"$TMP/a.cc" <<'END'
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Node {
    std::string key;
    std::vector<int> values;
    explicit Node(std::string k) : key(std::move(k)) {}
    int sum() const {
        int total = 0;
        for (int v : values)
            total += v;
        return total;
    }
};

static int twice(int x) { return x * 2; }
__attribute__((noinline)) int hidden(int x) { return twice(x) + 1; }
} // namespace

template <typename T, int N> struct Ring {
    T items[N];
    int at = 0;
    void push(T v) { items[at++ % N] = std::move(v); }
    template <typename F> void each(F f) {
        for (auto &i : items)
            f(i);
    }
};

class Base {
  public:
    virtual ~Base() = default;
    virtual int run(int) = 0;
};

template <int K> class Derived : public Base {
    std::map<int, std::unique_ptr<Node>> nodes;

  public:
    int run(int n) override {
        if (n < 0)
            throw std::invalid_argument("negative");
        for (int i = 0; i < n; i++) {
            auto &node = nodes[i % K];
            if (!node)
                node = std::make_unique<Node>(std::to_string(i));
            node->values.push_back(hidden(i));
        }
        int total = 0;
        std::for_each(nodes.begin(), nodes.end(),
                      [&total](auto &pair) { total += pair.second->sum(); });
        return total;
    }
};

extern "C" int plain(int n)
{
    Ring<std::string, 4> ring;
    std::function<void(std::string &)> show = [n](std::string &s) {
        if (n > 3)
            std::puts(s.c_str());
    };
    for (int i = 0; i < n; i++)
        ring.push(std::string(i, 'x'));
    ring.each(show);
    return n;
}

int main(int argc, char **)
{
    Derived<7> seven;
    Derived<11> eleven;
    try {
        return seven.run(argc) + eleven.run(argc) + plain(argc);
    } catch (const std::exception &e) {
        std::puts(e.what());
        return 1;
    }
}
END

echo "# compilers and DWARF versions"
g++ -O2 -g -o "$TMP/five" "$TMP/a.cc"
compare "$TMP/five"
g++ -O2 -gdwarf-4 -o "$TMP/four" "$TMP/a.cc"
compare "$TMP/four"
g++ -O2 -g -no-pie -o "$TMP/exec" "$TMP/a.cc"
compare "$TMP/exec"
g++ -O1 -g -gz -fdebug-types-section -o "$TMP/types" "$TMP/a.cc"
compare "$TMP/types"
if command -v clang++ >/dev/null; then
    clang++ -O2 -g -o "$TMP/clang" "$TMP/a.cc"
    compare "$TMP/clang"
    clang++ -O2 -gdwarf-4 -no-pie -o "$TMP/clang4" "$TMP/a.cc"
    compare "$TMP/clang4"
fi
g++ -O2 -o "$TMP/none" "$TMP/a.cc"
compare "$TMP/none"

echo "# what our reader does not know is libbfd's, and it says so"
g++ -O2 -g -gsplit-dwarf -o "$TMP/split" "$TMP/a.cc"
compare "$TMP/split" --by-addr2line \
    --note "in units of split DWARF: named by libbfd"

echo "# symbol indexes: the same names without any debug information"
mkdir "$TMP/index"
for object in five four exec types clang clang4; do
    [ -f "$TMP/$object" ] || continue
    "$PROF" --index --output "$TMP/index/$object.hwindex" "$TMP/$object"
    strip -o "$TMP/index/$object" "$TMP/$object"
    compare "$TMP/index/$object" --symbols "$TMP/$object" \
        --source "$TMP/$object"
done
plain=$(address_of "$TMP/five" plain)
[ "$(name "$TMP/index/five" "$plain")" = plain ] || fail "index"

echo "# an index of another file is not believed, nor a damaged one"
cp "$TMP/five" "$TMP/index/mended"
cp "$TMP/index/four.hwindex" "$TMP/index/mended.hwindex"
[ "$(name "$TMP/index/mended" "$plain")" = plain ] || fail "another's index"
echo "$plain" | "$DRIVER" "$HELPER" "$TMP/index/mended" 2>&1 >/dev/null |
    grep -q "its symbol index is unusable" || fail "another's index: no note"
python3 - "$TMP" "$DRIVER" "$HELPER" <<'END'
import random
import subprocess
import sys

tmp, driver, helper = sys.argv[1:]
whole = open(tmp + "/index/five.hwindex", "rb").read()
mended = tmp + "/index/mended"
symbols = subprocess.run(["nm", tmp + "/five"], check=True,
                         capture_output=True, text=True).stdout
questions = "".join(f"0x{line.split()[0]}\n" for line in symbols.splitlines()
                    if line.split()[-2] in "tTwW" and line[0] != " ")


def names(path):
    done = subprocess.run([driver, helper, path], input=questions, check=True,
                          capture_output=True, text=True, timeout=200)
    return done.stdout.replace(path, "five"), done.stderr


right, _ = names(tmp + "/index/five")
random.seed(1)
notes = 0
for _ in range(40):
    data = bytearray(whole)
    for _ in range(random.randrange(1, 4)):
        data[random.randrange(len(data))] = random.randrange(256)
    open(mended + ".hwindex", "wb").write(data[:random.choice(
        [len(data), len(data), random.randrange(len(data))])])
    found, note = names(mended)
    assert found == right, note
    notes += "index" in note
assert notes > 20, notes
print(f"40 damaged indexes, {notes} with a note")
END

echo "# split debug file by debuglink, its CRC checked"
mkdir "$TMP/link" "$TMP/link/.debug"
objcopy --only-keep-debug "$TMP/five" "$TMP/link/.debug/five.debug"
objcopy --strip-all --remove-section=.note.gnu.build-id \
    --add-gnu-debuglink="$TMP/link/.debug/five.debug" \
    "$TMP/five" "$TMP/link/five"
compare "$TMP/link/five" --symbols "$TMP/five" --source "$TMP/five"
[ "$(name "$TMP/link/five" "$plain")" = plain ] || fail "debuglink"
printf x >>"$TMP/link/.debug/five.debug"
case $(name "$TMP/link/five" "$plain") in
five+0x*) ;;
*) fail "a debug file with another CRC was believed" ;;
esac

id=$(readelf -n "$TMP/five" | sed -n 's/.*Build ID: //p')
first=$(echo "$id" | cut -c1-2)
INSTALLED=/usr/lib/debug/.build-id/$first/$(echo "$id" | cut -c3-).debug
if mkdir -p "${INSTALLED%/*}" 2>/dev/null && [ -w "${INSTALLED%/*}" ]; then
    echo "# split debug file by build-id, which has to be the same"
    mkdir "$TMP/id"
    objcopy --only-keep-debug "$TMP/five" "$INSTALLED"
    strip -o "$TMP/id/five" "$TMP/five"
    compare "$TMP/id/five" --symbols "$TMP/five" --source "$TMP/five"
    [ "$(name "$TMP/id/five" "$plain")" = plain ] || fail "build-id"
    objcopy --only-keep-debug "$TMP/exec" "$INSTALLED"
    case $(name "$TMP/id/five" "$plain") in
    five+0x*) ;;
    *) fail "a debug file of another build-id was believed" ;;
    esac
    rm "$INSTALLED"
fi

echo "# stripped: functions by their start, never a neighbour's name"
strip -o "$TMP/bare" "$TMP/five"
size=$(nm -S "$TMP/five" | awk '$4 == "plain" { print "0x" $2 }')
for at in "$plain" $((plain + 5)) $((plain + size - 1)); do
    [ "$(name "$TMP/bare" "$(printf '0x%x' "$at")")" = \
        "$(printf 'bare+0x%x' "$plain")" ] || fail "stripped at $at"
done
objcopy --remove-section=.eh_frame_hdr "$TMP/bare" "$TMP/nohdr" 2>/dev/null
[ "$(name "$TMP/nohdr" "$(printf '0x%x' $((plain + 5)))")" = \
    "$(printf 'nohdr+0x%x' "$plain")" ] || fail "without .eh_frame_hdr"

echo "# deleted and replaced: the descriptor counts"
cp "$TMP/five" "$TMP/gone"
exec 9<"$TMP/gone"
rm "$TMP/gone"
cp "$TMP/bare" "$TMP/gone"
[ "$(name /proc/self/fd/9 "$plain" "$TMP/gone")" = plain ] || fail "deleted"
exec 9<&-

echo "# a library with exported names only"
jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
compare "$jemalloc" --step 3
text=$(readelf -SW "$jemalloc" | awk '$2 == ".text" || $3 == ".text" {
    sub(/.*\.text/, ""); print "0x" $2, "0x" $4 }')
python3 - $text >"$TMP/addresses" <<'END'
import sys
start, size = (int(a, 16) for a in sys.argv[1:])
for address in range(start, start + size, 16):
    print(hex(address))
END
"$DRIVER" "$HELPER" "$jemalloc" <"$TMP/addresses" 2>/dev/null >"$TMP/names"
nm -DS "$jemalloc" | awk '$4 ~ /^malloc_usable_size/ { print $1, $2 }' \
    >"$TMP/usable"
python3 - "$TMP/names" "$TMP/usable" <<'END'
import sys
start, size = (int(a, 16) for a in open(sys.argv[2]).read().split())
lines = open(sys.argv[1]).read().splitlines()
own, unnamed, functions, inside = 0, 0, set(), 0
for address, name, place, mark in zip(*[iter(lines)] * 4):
    assert mark == "(allocator)", mark
    within = start <= int(address, 16) < start + size
    assert (name == "malloc_usable_size") == within, (address, name)
    inside += within
    if name.startswith("libjemalloc.so.2+0x"):
        unnamed += 1
        functions.add(name)
assert inside > 0 and unnamed > 10000, (inside, unnamed)
assert len(functions) < unnamed / 8, (len(functions), unnamed)
print(f"{unnamed} addresses in {len(functions)} unnamed functions")
END

echo "# damaged DWARF costs names, nothing else"
nm -S "$TMP/five" | awk 'NF == 4 && $3 ~ /[tTwW]/ { print "0x" $1 }' |
    sort >"$TMP/addresses"
python3 - "$TMP/five" "$TMP/damaged" "$TMP/addresses" "$DRIVER" "$HELPER" <<'END'
import random
import subprocess
import sys

source, damaged, addresses, driver, helper = sys.argv[1:]
whole = open(source, "rb").read()
questions = open(addresses).read()
random.seed(1)
notes = 0
for _ in range(60):
    data = bytearray(whole)
    for _ in range(200):
        at = random.randrange(0x1000, len(data))
        data[at] = random.randrange(256)
    open(damaged, "wb").write(data)
    done = subprocess.run([driver, helper, damaged], input=questions,
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    count = sum(line.startswith("0x") for line in done.stdout.splitlines())
    assert count >= len(questions.split()), done.stdout
    notes += ":" in done.stderr
print(f"60 damaged files, {notes} with a note")
END

echo "# the helper's limits, and its end"
python3 - "$HELPER" <<'END'
import os
import socket
import subprocess
import sys

ours, theirs = socket.socketpair()
helper = subprocess.Popen([sys.argv[1], str(3 << 30), "10", str(os.getpid()),
                           "0"], stdin=theirs)
theirs.close()
status = f"/proc/{helper.pid}/"
while "NoNewPrivs:\t1" not in open(status + "status").read():
    assert helper.poll() is None
stat = open(status + "stat").read().rsplit(")", 1)[1].split()
assert stat[16] == "10", stat[16]
assert open(status + "oom_score_adj").read().strip() == "1000"
limits = {line[:26].strip(): line[26:].split()[0]
          for line in open(status + "limits")}
assert limits["Max core file size"] == "0", limits
assert limits["Max file size"] == "0", limits
assert limits["Max address space"] in (str(3 << 30), "unlimited"), limits
ours.close()
assert helper.wait(60) == 0
# Its parent died before it could ask for a signal.
ours, theirs = socket.socketpair()
assert subprocess.run([sys.argv[1], "0", "10", "1", "0"], stdin=theirs,
                      timeout=60).returncode == 1
# By hand.
assert subprocess.run([sys.argv[1]], stdin=theirs, stderr=subprocess.DEVNULL,
                      timeout=60).returncode == 2
END

echo "# Debian's own"
compare /usr/bin/redis-server --step 101
if [ -d /usr/lib/debug/.build-id ]; then
    libc=/lib/x86_64-linux-gnu/libc.so.6
    id=$(readelf -n $libc | sed -n 's/.*Build ID: //p')
    debug=/usr/lib/debug/.build-id/$(echo "$id" | cut -c1-2)/$(
        echo "$id" | cut -c3-).debug
    if [ -f "$debug" ]; then
        compare $libc --symbols "$debug" --step 211
        start=$(nm "$debug" | awk '$3 == "start_thread" { print "0x" $1 }')
        [ "$(name $libc "$start")" = start_thread ] || fail "libc's internals"
    fi
fi
echo "symbolizer.sh: passed"
