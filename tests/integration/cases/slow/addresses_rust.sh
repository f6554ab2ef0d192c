#!/bin/sh
# addresses_rust.sh - names and lines of a Rust program against llvm-symbolizer's.
set -eu

BUILD=${BUILD:-build/release}
HERE=tests/integration/programs
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
trap 'exit 1' INT TERM

if ! command -v rustc >/dev/null; then
    echo "skipped: no rustc"
    exit 0
fi
rustc -C opt-level=2 -C debuginfo=2 -o "$TMP/rust" "$HERE/addresses/main.rs"
python3 "$HERE/symbolizer_compare.py" "$BUILD" "$TMP/rust" --name rust
echo "addresses_rust.sh: passed"
