#!/bin/sh
# addresses.sh - names, inlined frames and lines of a corpus against
# llvm-symbolizer's, at every call among others: compilers, DWARF versions,
# link-time optimisation, stripped, compressed and separate debug information,
# symbol indexes.
#
# addresses.sh         all cases
# addresses.sh CASE... only those
set -eu

BUILD=${BUILD:-build/release}
HERE=tests/integration/programs
SOURCE=$HERE/addresses
TMP=$(mktemp -d)
INSTALLED=
trap 'rm -rf "$TMP"; [ -z "$INSTALLED" ] || rm -f "$INSTALLED"' EXIT
trap 'exit 1' INT TERM
only=" $* "
failed=

wanted() {
    [ "$only" = "  " ] || case "$only" in *" $1 "*) ;; *) return 1 ;; esac
}

# compare CASE OBJECT [OPTIONS...]
compare() {
    wanted "$1" || return 0
    case=$1
    shift
    python3 "$HERE/symbolizer_compare.py" "$BUILD" "$@" --name "$case" ||
        failed="$failed $case"
}

# build NAME CC CXX FLAGS...: all sources into $TMP/NAME, once.
build() {
    name=$1 cc=$2 cxx=$3
    shift 3
    [ ! -e "$TMP/$name" ] || return 0
    mkdir "$TMP/$name.o"
    $cc "$@" -c -o "$TMP/$name.o/plain.o" "$SOURCE/plain.c"
    $cxx -std=c++17 "$@" -c -o "$TMP/$name.o/main.o" "$SOURCE/main.cc" &
    $cxx -std=c++17 "$@" -c -o "$TMP/$name.o/sites.o" "$SOURCE/sites.cc"
    $cxx -std=c++17 "$@" -c -o "$TMP/$name.o/shapes.o" "$SOURCE/shapes.cc"
    wait $!
    as -g -o "$TMP/$name.o/leaf.o" "$SOURCE/leaf.s"
    link "$name" "$cxx" "$@"
}

# link NAME CXX FLAGS...: the objects of NAME into $TMP/NAME
link() {
    name=$1 cxx=$2
    shift 2
    $cxx -std=c++17 "$@" -o "$TMP/$name" "$TMP/$name.o"/*.o -pthread
}

if wanted gcc5 || wanted nopie || wanted index || wanted debuglink || wanted build-id ||
    wanted zlib || wanted zdebug || wanted zstd || wanted dwz ||
    wanted alternative; then
    build gcc5 gcc g++ -O2 -g
    compare gcc5 "$TMP/gcc5"
fi
if wanted nopie; then
    g++ -no-pie -o "$TMP/nopie" "$TMP/gcc5.o"/*.o -pthread
    compare nopie "$TMP/nopie"
fi
if wanted gcc4; then
    build gcc4 gcc g++ -O3 -gdwarf-4
    compare gcc4 "$TMP/gcc4"
fi
if wanted clang4; then
    build clang4 clang clang++ -O2 -gdwarf-4
    compare clang4 "$TMP/clang4"
fi
if wanted clang5; then
    build clang5 clang clang++ -O2 -gdwarf-5
    compare clang5 "$TMP/clang5"
fi
if wanted lto; then
    build lto gcc g++ -O2 -g -flto
    compare lto "$TMP/lto"
fi
if wanted types; then # and code that the linker throws away
    build types gcc g++ -O1 -gdwarf-4 -fdebug-types-section \
        -ffunction-sections -Wl,--gc-sections
    compare types "$TMP/types"
fi
if wanted types5; then
    build types5 gcc g++ -O2 -gdwarf-5 -fdebug-types-section \
        -ffunction-sections -Wl,--gc-sections
    compare types5 "$TMP/types5"
fi
if wanted split; then
    build split gcc g++ -O1 -g -gsplit-dwarf
    compare split "$TMP/split" --by-addr2line --note 'split DWARF'
fi
if wanted index; then # instead of all that
    mkdir "$TMP/index"
    for name in gcc5 gcc4 clang5 lto types5; do
        [ -e "$TMP/$name" ] || continue
        "$BUILD/bin/heapwire-prof" --index \
            --output "$TMP/index/$name.hwindex" "$TMP/$name"
        strip -o "$TMP/index/$name" "$TMP/$name"
        compare index "$TMP/index/$name" --source "$TMP/$name" \
            --symbols "$TMP/$name"
    done
fi
if wanted debuglink; then
    mkdir -p "$TMP/link/.debug"
    objcopy --only-keep-debug "$TMP/gcc5" "$TMP/link/.debug/gcc5.debug"
    objcopy --strip-all --remove-section=.note.gnu.build-id \
        --add-gnu-debuglink="$TMP/link/.debug/gcc5.debug" \
        "$TMP/gcc5" "$TMP/link/gcc5"
    compare debuglink "$TMP/link/gcc5" --source "$TMP/gcc5" \
        --symbols "$TMP/gcc5" --most 2000
fi
if wanted build-id; then
    id=$(readelf -n "$TMP/gcc5" | sed -n 's/.*Build ID: //p')
    rest=${id#??}
    file=/usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug
    if mkdir -p "${file%/*}" 2>/dev/null && [ -w "${file%/*}" ]; then
        INSTALLED=$file
        objcopy --only-keep-debug "$TMP/gcc5" "$file"
        strip -o "$TMP/stripped" "$TMP/gcc5"
        compare build-id "$TMP/stripped" --source "$TMP/gcc5" \
            --symbols "$TMP/gcc5" --most 2000
    fi
fi
if wanted zlib; then
    objcopy --compress-debug-sections=zlib "$TMP/gcc5" "$TMP/zlib"
    compare zlib "$TMP/zlib" --most 2000
fi
if wanted zdebug; then
    objcopy --compress-debug-sections=zlib-gnu "$TMP/gcc5" "$TMP/zdebug"
    compare zdebug "$TMP/zdebug" --source "$TMP/gcc5" --most 2000
fi
if wanted zstd; then # neither Debian's binutils nor its llvm knows it
    python3 "$HERE/addresses_zstd.py" "$TMP/gcc5" "$TMP/zstd"
    compare zstd "$TMP/zstd" --source "$TMP/gcc5" --most 2000
fi
if wanted dwz; then
    dwz -o "$TMP/dwz" "$TMP/gcc5"
    compare dwz "$TMP/dwz" --source "$TMP/gcc5"
fi
if wanted alternative; then # two files and what they share in a third
    cp "$TMP/gcc5" "$TMP/alt1"
    g++ -no-pie -o "$TMP/alt2" "$TMP/gcc5.o"/*.o -pthread
    dwz -m "$TMP/alt.debug" "$TMP/alt1" "$TMP/alt2"
    compare alternative "$TMP/alt1" --by-addr2line --note 'dwz shortened'
fi

if [ -n "$failed" ]; then
    echo "addresses.sh: failed:$failed" >&2
    exit 1
fi
echo "addresses.sh: passed"
