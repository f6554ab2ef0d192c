#!/bin/sh
# flamegraph.sh - flame graphs in headless Chromium: see flamegraph.py.
#
# BUILD is the build directory; SHOTS, where given, keeps the screenshots.
set -eu

top=$(pwd)
build=${BUILD:-build/release}
case $build in /*) ;; *) build=$top/$build ;; esac
here=$top/tests/integration/programs
picture=$build/bin/picture

[ -x "$picture" ] || { echo "flamegraph.sh: $picture is missing" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
mkdir -p "${SHOTS:-$dir/shots}"

"$here/flamegraph_profiles.py" "$dir"
# Names of files are shown as they are.
for one in ordinary hostile empty large; do
    options=--live
    [ $one != hostile ] || options="--live --files"
    "$picture" /usr/bin/db "$dir/$one.heap" "$dir/$one.names" \
        $options >"$dir/$one.svg"
    xmllint --noout --nonet "$dir/$one.svg"
done
"$picture" /usr/bin/db "$dir/ordinary.heap" "$dir/ordinary.names" \
    --signed >"$dir/difference.svg"
timeout 300 "$here/flamegraph.py" "$dir/ordinary.svg" \
    "$dir/hostile.svg" "$dir/difference.svg" "$dir/empty.svg" \
    "$dir/large.svg" "${SHOTS:-$dir/shots}"
echo "flamegraph.sh: ok"
