#!/usr/bin/env python3
"""Profiles for flamegraph.sh: NAME.heap and NAME.names in a directory.

A heap is a list of stacks, the root first, each with its bytes; every function
gets addresses of its own.
"""
import os
import sys


def write(directory, name, stacks):
    addresses, lines = {}, []
    dump = ["heap_v2/524288"]
    total = sum(size for _, size in stacks)
    dump.append(f"  t*: {len(stacks)}: {total} [0: 0]")
    for frames, size in stacks:
        stack = []
        for function in reversed(frames):
            address = addresses.setdefault(function,
                                           0x10000 * (len(addresses) + 1))
            # Where a call returns to is one behind the call.
            stack.append(f"{address + (1 if stack else 0):#x}")
        dump.append("@ " + " ".join(stack))
        dump.append(f"  t*: {max(1, size // 4000000)}: {size} [0: 0]")
    dump.append("MAPPED_LIBRARIES:")
    for function, address in addresses.items():
        lines.append(b"%016x\t%s" % (address, function))
    with open(os.path.join(directory, name + ".heap"), "w",
              encoding="ascii") as file:
        file.write("\n".join(dump) + "\n\n")
    with open(os.path.join(directory, name + ".names"), "wb") as file:
        file.write(b"\n".join(lines) + b"\n")


def ordinary():
    base = [b"_start", b"main"]
    stacks = []
    for i in range(6):
        for k in range(5):
            stacks.append((base + [
                b"server::Session::run", b"store::Command%d::execute" % i,
                b"store::Table::put" if i == 2 else b"store::Map%d::put" % i,
                b"std::vector::reserve" if k % 2 else b"store::Row::copy",
                b"arena::grow%d" % k, b"sys::allocate"],
                20000000 * (i + 1) // (k + 1)))
    for i in range(9):
        stacks.append((base + [b"net::accept"] +
                       [b"net::filter%d" % k for k in range(i)],
                       5000000 * (9 - i)))
    stacks.append((base + [b"log::write"], 9000))
    return stacks


def hostile():
    names = [
        b"<script>window.pwned=1</script>", b"]]>",
        b"]]><script>window.pwned=2</script><![CDATA[", b"\"quotes'&amp;",
        b"'onload='window.pwned=3", b"<img src=x onerror=window.pwned=4>",
        b"</title></g></svg><script>window.pwned=5</script>",
        b"\x1b[31mred\x07", b"broken \xff\xfe utf-8 \xc3",
        b"\xe2\x80\xaeturned", b"\xef\xbf\xbf\xef\xbf\xbe", b"${window.pwned=6}",
        b"`${window.pwned=7}`", b"\\u003cscript\\u003e", b"javascript:alert(1)",
        b"__proto__", b"constructor", b"(anonymous namespace)::put", "数据库::分配内存".encode(),
        b"std::map" * 12800]
    return [([b"main", name, b"leaf"], 8000000) for name in names]


def large():
    return [([b"main", b"part%d" % (i // 200), b"function%d" % i,
              b"leaf%d" % (i % 7)], 4000000 + i) for i in range(49800)]


def main():
    write(sys.argv[1], "ordinary", ordinary())
    write(sys.argv[1], "hostile", hostile())
    write(sys.argv[1], "empty", [])
    write(sys.argv[1], "large", large())


main()
