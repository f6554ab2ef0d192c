#!/bin/sh
# jemalloc.sh - a static jemalloc of any version and prefix, built once.
#
# jemalloc.sh VERSION PREFIX [OPTION...]
#
# VERSION: 5.2.1 and 5.3.1 as the Rust crates have them, 5.3.0 as Debian has it,
# or a directory: a source tree with its configure.  PREFIX: je, je_, none.
# Prints the library's path, under build/linked.
set -eu

version=$1
prefix=$2
shift 2
[ "$prefix" != none ] || prefix=
top=$PWD/build/linked
name=jemalloc-$(basename "$version")-${prefix:-none}$(echo "$*" | tr -d ' ')
library=$top/$name/lib/libjemalloc_pic.a
exec 9>"$top.lock"
flock 9 # others build the same
if [ -e "$library" ]; then
    echo "$library"
    exit 0
fi

# fetch URL SHA256
fetch() {
    /usr/lib/apt/apt-helper -qq download-file "$1" "$top/$name.tar" "SHA256:$2" >&2
    tar xf "$top/$name.tar" -C "$top/$name" --strip-components=1
    rm "$top/$name.tar"
}

# crate VERSION SHA256: of tikv-jemalloc-sys, which has jemalloc and its configure.
crate() {
    fetch "https://static.crates.io/crates/tikv-jemalloc-sys/tikv-jemalloc-sys-$1.crate" "$2"
    mv "$top/$name/jemalloc" "$top/$name.tree"
    cp "$top/$name/configure/"* "$top/$name.tree"
    rm -r "${top:?}/$name"
    mv "$top/$name.tree" "$top/$name"
}

rm -rf "${top:?}/$name"
mkdir -p "$top/$name"
case $version in
5.2.1)
    crate 0.4.3+5.2.1-patched.2 \
        a1792ccb507d955b46af42c123ea8863668fae24d03721e40cad6a41773dbb49
    ;;
5.3.0)
    fetch http://deb.debian.org/debian/pool/main/j/jemalloc/jemalloc_5.3.0.orig.tar.bz2 \
        2db82d1e7119df3e71b7640219b6dfe84789bc0537983c3b7ac4f7189aecfeaa
    ;;
5.3.1)
    crate 0.7.1+5.3.1-0-g81034ce1f1373e37dc865038e1bc8eeecf559ce8 \
        1a2825c78386b4ae0314074867860ba9577875de945f05992c38815cbec327f0
    ;;
*) cp -r "$version/." "$top/$name" ;;
esac
cd "$top/$name"
[ -e VERSION ] || echo "$version-0-g0000000000000000000000000000000000000000" >VERSION
{
    # Debian's and StarRocks' options; -g1: the names of its frames are enough.
    CFLAGS='-O2 -g1 -fPIC' sh ./configure --with-jemalloc-prefix="$prefix" \
        --disable-cxx --disable-libdl "$@" &&
        make -j2 lib/libjemalloc_pic.a
} >build.log 2>&1 9>&- || {
    tail -n 20 build.log
    exit 1
} >&2
echo "$library"
