#!/bin/sh
# rust.sh - rust/ in the forms in which Rust databases are linked, into
# build/linked, with whatever cargo there is.
set -eu

PATH=$PATH:$HOME/.cargo/bin
out=$PWD/build/linked
cd tests/integration/programs/linked/rust

# server NAME PROFILE FEATURES
server() {
    [ "$out/$1" -nt src/main.rs ] && return
    CARGO_TARGET_DIR=$out/cargo cargo build -q -j1 --profile "$2" \
        --no-default-features --features "$3"
    cp "$out/cargo/$2/server" "$out/$1"
    strip -o "$out/$1-stripped" "$out/$1"
}
server rust release profiling
server rust-compiled-in release profiling,compiled_in
server rust-noprof release ""
server rust-unprefixed release profiling,unprefixed
server rust-lto lto profiling
