#!/bin/sh
# run.sh - every test, from packages to verdict, on a fresh Debian 12.
#
# sh tests/run.sh         the core set, as CI runs it
# sh tests/run.sh --all   also the long ones
#
# Prints a line per part and, last, how many passed and failed.
set -u
cd "$(dirname "$0")/.." || exit 1

all=no
case "${1:-}" in
'') ;;
--all) all=yes ;;
*)
    echo "usage: sh tests/run.sh [--all]" >&2
    exit 64
    ;;
esac

logs=$(mktemp -d)
passed=0
failed=0
failures=
trap 'rm -rf "$logs"' EXIT

# part NAME COMMAND...: runs it, keeps its output, prints it when it fails.
part() {
    name=$1
    shift
    start=$(date +%s)
    if "$@" >"$logs/out" 2>&1 </dev/null; then
        passed=$((passed + 1))
        verdict=ok
        skipped=$(grep -m 1 '^skipped:' "$logs/out")
        [ -z "$skipped" ] || verdict="ok, but $skipped:"
    else
        failed=$((failed + 1))
        failures="$failures $name"
        verdict=FAILED
        sed 's/^/    /' "$logs/out" | tail -n 200
    fi
    echo "$verdict  $name ($(($(date +%s) - start)) s)"
}

build() {
    cmake --preset "$1" && cmake --build --preset "$1"
}

format() {
    git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

tidy() {
    git ls-files 'plugin/*.c' 'sql/*.c' 'server/*.c' |
        xargs -P 2 -n 4 clang-tidy --quiet -p build/clang
}

# No folder may include a header from a floor above it.
floors() {
    sh tests/floors.sh
}

part packages sh docker/install.sh
for preset in release clang asan tsan; do
    part "build-$preset" build "$preset"
done
part format format
part floors floors
part tidy tidy
export CK_TIMEOUT_MULTIPLIER=10 # sanitizers, and a busy machine
for preset in release asan tsan; do
    part "unit-$preset" ctest --preset "$preset" -j 2 --no-tests=error
done

for preset in asan tsan; do
    part "storm-$preset" env BUILD="build/$preset" \
        timeout 600 sh tests/integration/storm.sh
done

export BUILD=build/release
[ "$all" = yes ] && export FORKS=20000
for script in tests/integration/*.sh; do
    part "$(basename "$script" .sh)" timeout 600 sh "$script"
done
if [ "$all" = yes ]; then
    for script in tests/integration/slow/*.sh; do
        [ -e "$script" ] || continue
        part "$(basename "$script" .sh)" timeout 1800 sh "$script"
    done
fi

[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
