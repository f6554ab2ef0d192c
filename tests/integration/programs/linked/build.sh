#!/bin/sh
# build.sh - the server of server.cc in the forms in which databases are linked.
#
# build.sh      those that linkages.py needs, in build/linked
# build.sh all  also those of slow/linkages_all.py
set -eu

here=tests/integration/programs/linked
out=build/linked
mkdir -p "$out"
je=$(sh $here/jemalloc.sh 5.3.0 je --enable-prof)
je_=$out/je_.a # the same with another prefix, but for its variable's name
nm -g --defined-only "$je" | sed -n 's/.* [A-Z] je\([a-z].*\)/je\1 je_\1/p' |
    sort -u >"$out/names"
objcopy --redefine-syms="$out/names" "$je" "$je_"

# server NAME PREFIX LIBRARY OPTION...
server() {
    name=$1
    prefix=$2
    library=$3
    shift 3
    [ $here/server.cc -ot "$out/$name" ] && return
    c++ -O2 -g -fno-omit-frame-pointer -DPREFIX="$prefix" -o "$out/$name" \
        "$@" $here/server.cc "$library" -lpthread -lm
}
cc -O2 -g -fPIC -DPREFIX=je -c -o "$out/mem_hook.o" $here/mem_hook.c
hook=$out/mem_hook.o

# As StarRocks and Doris were linked, and what packagers do to them.
server starrocks je "$je" "$hook"
server starrocks-rdynamic je "$je" "$hook" -rdynamic
strip --strip-debug -o "$out/starrocks-strip-debug" "$out/starrocks"
strip --strip-unneeded -o "$out/starrocks-strip-unneeded" "$out/starrocks"
strip -o "$out/starrocks-rdynamic-stripped" "$out/starrocks-rdynamic"
objcopy --only-keep-debug "$out/starrocks" "$out/starrocks-split.debug"
strip -o "$out/starrocks-split" "$out/starrocks"
(cd "$out" && objcopy --add-gnu-debuglink=starrocks-split.debug starrocks-split)
server starrocks-static je "$je" "$hook" -static
server starrocks-static-pie je "$je" "$hook" -static-pie
# ClickHouse's way: options of its own, compiled in.
server compiled-in je "$je" "$hook" \
    -DCOMPILED_IN='"prof_active:false,lg_prof_sample:18,background_thread:true"'
# Calls je_malloc itself; malloc and operator new stay libc's and libstdc++'s.
server own je_ "$je_" -DOWN
strip -o "$out/own-stripped" "$out/own"
# As StarRocks 3.4 is: the allocator in a library of its own.
cc -shared -o "$out/libjemalloc-je.so.2" -Wl,-soname,libjemalloc-je.so.2 \
    -Wl,--whole-archive "$je" -Wl,--no-whole-archive -lpthread -lm
server starrocks-shared je "$out/libjemalloc-je.so.2" "$hook" \
    -Wl,-rpath,"$PWD/$out"
strip -o "$out/starrocks-shared-stripped" "$out/starrocks-shared"
[ "${1:-}" = all ] || exit 0

je_old=$(sh $here/jemalloc.sh 5.2.1 je_ --enable-prof)
server jemalloc-5.2.1 je_ "$je_old" -DOWN
strip -o "$out/jemalloc-5.2.1-stripped" "$out/jemalloc-5.2.1"
server jemalloc-5.3.1 '' "$(sh $here/jemalloc.sh 5.3.1 none --enable-prof)"
strip -o "$out/jemalloc-5.3.1-stripped" "$out/jemalloc-5.3.1"
server noprof je "$(sh $here/jemalloc.sh 5.3.0 je --disable-prof)" "$hook"
if [ -n "${JEMALLOC_TREE:-}" ]; then # of the development branch
    server jemalloc-dev je_ \
        "$(sh $here/jemalloc.sh "$JEMALLOC_TREE" je_ --enable-prof)" -DOWN
fi
if PATH=$PATH:$HOME/.cargo/bin command -v cargo >/dev/null; then
    sh $here/rust.sh
else
    echo "skipped: Rust (no cargo)"
fi
