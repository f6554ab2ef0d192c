#!/bin/sh
# addresses_rust.sh - names and lines of a Rust program against addr2line's.
set -eu

BUILD=${BUILD:-build/release}
HERE=tests/integration
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
trap 'exit 1' INT TERM

if ! command -v rustc >/dev/null; then
    echo "skipped: no rustc"
    exit 0
fi
rustc -C opt-level=2 -C debuginfo=2 -o "$TMP/rust" "$HERE/addresses/main.rs"
python3 "$HERE/addresses_compare.py" "$BUILD" rust "$TMP/rust"
echo "addresses_rust.sh: passed"
