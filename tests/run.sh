#!/bin/sh
# run.sh - every test, from packages to verdict, on a fresh Debian 12.
#
# sh tests/run.sh         the core set, as CI runs it
# sh tests/run.sh --all   also the long ones
#
# Prints a line per part and, last, how many passed and failed.
set -u
cd "$(dirname "$0")/.." || exit 1
export PYTHONPATH="$PWD/tests/integration/lib"
python=${PYTHON:-/usr/bin/python3} # Debian's: it has Debian's modules

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
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM # the other lane ends when it finds no directory

# important LOG: the lines that name a fault, wherever they are, and the end.
important() {
    grep -nE "FAULT|FAILED|DIFFERENT|Failed|[Ee]rror:|warning:|Sanitizer|:[FE]:" \
        "$1" | head -n 40
    echo "... the end of $(wc -l <"$1") lines:"
    tail -n 100 "$1"
}

# part NAME COMMAND...: runs it, keeps its output, prints what matters of that
# when it fails.  Several may run side by side.
part() {
    name=$1
    shift
    start=$(date +%s)
    log=$logs/$name.log
    verdict=ok
    if "$@" >"$log" 2>&1 </dev/null; then
        : >"$logs/$name.passed"
        grep -A 20 '^again, alone:' "$log" | sed 's/^/    /'
        skipped=$(grep -m 1 '^skipped:' "$log")
        [ -z "$skipped" ] || verdict="ok, but $skipped:"
    else
        verdict=FAILED
        important "$log" | cut -c 1-500 | sed 's/^/    /' \
            >"$logs/$name.failed"
    fi
    took=$(($(date +%s) - start))
    [ "$verdict" != FAILED ] || cat "$logs/$name.failed"
    echo "$verdict  $name ($took s)"
}

# count passed|failed
count() {
    find "$logs" -name "*.$1" | wc -l
}

# side_by_side SECONDS SCRIPT...: three at a time, for most of them wait.
side_by_side() {
    lane "$@" &
    second=$!
    lane "$@" &
    third=$!
    lane "$@"
    wait "$second" "$third"
    shift
    for script; do # of a lane that was killed
        name=$(name_of "$script")
        [ -e "$logs/$name.passed" ] || [ -e "$logs/$name.failed" ] ||
            ! [ -e "$script" ] || : >"$logs/$name.failed"
    done
}

# again_alone SECONDS: scripts side by side take each other's processor, and
# some test what happens in time.  A few that failed so count by how they do
# alone; both is told.
again_alone() {
    [ "$(count failed)" -le 3 ] || return 0
    for failed in "$logs"/*.failed; do
        for script in tests/integration/cases/"$(basename "$failed" .failed)".*; do
            [ -e "$script" ] || continue
            rm "$failed"
            echo "again, alone:"
            run_case "$1" "$script"
        done
    done
}

name_of() {
    basename "${1%.*}"
}

# run_case SECONDS CASE
run_case() {
    case $2 in
    *.py) part "$(name_of "$2")" timeout "$1" "$python" "$2" ;;
    *) part "$(name_of "$2")" timeout "$1" sh "$2" ;;
    esac
}

# The lane that makes the directory runs the case.
lane() {
    seconds=$1
    shift
    for script; do
        [ -e "$script" ] || continue
        mkdir "$logs/$(name_of "$script")" 2>/dev/null || continue
        run_case "$seconds" "$script"
    done
}

build() {
    cmake --preset "$1" && cmake --build --preset "$1"
}

format() {
    git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

# The analyzer ends at so many states of a function: at its own 225000 it takes
# more than twice the time.  sh tests/run.sh --all lets it.
tidy() {
    states=100000
    [ "$all" = no ] || states=225000
    git ls-files 'plugin/*.c' 'sql/*.c' 'server/*.c' |
        xargs -P 2 -n 4 clang-tidy --quiet -p build/clang \
            --extra-arg=-Xclang --extra-arg=-analyzer-config \
            --extra-arg=-Xclang --extra-arg=max-nodes=$states
}

# units PRESET: three suites at a time, for one of them waits most of its time,
# take each other's processor, too.  A few that failed are tried once alone, and
# both is told; what a sanitizer found stays found.
units() {
    found=$logs/$1.units
    ctest --preset "$1" -j 3 --no-tests=error >"$found" 2>&1
    rc=$?
    cat "$found"
    [ "$rc" -ne 0 ] || return 0
    ! grep -qE 'Sanitizer|runtime error:' "$found" || return "$rc"
    [ "$(wc -l <"build/$1/Testing/Temporary/LastTestsFailed.log")" -le 3 ] ||
        return "$rc"
    echo "again, alone:"
    ctest --preset "$1" --rerun-failed
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
[ "$all" = no ] || export HEAPWIRE_TEST_ALL=1
for preset in release asan tsan; do
    part "unit-$preset" units "$preset"
    unset HEAPWIRE_TEST_ALL # once is enough
done

for preset in asan tsan; do
    part "storm-$preset" env BUILD="build/$preset" \
        timeout 600 "$python" tests/integration/cases/storm.py
done

part grammar-asan env BUILD=build/asan timeout 400 "$python" \
    tests/fuzz/grammar.py 120

export BUILD=build/release
[ "$all" = yes ] && export FORKS=20000 ROUNDS=1000
lane 600 tests/integration/cases/readme.sh # it builds and installs
# The longest ones first, so that none of them is left over for the end.
long="prof_indexed addresses evidence tls evidence_container etcd protocol links
    prepared jeprof drills_etcd drills_partition drills_misfits peers accounts
    control symbol_index linkages"
# shellcheck disable=SC2046,SC2086
side_by_side 600 $(printf 'tests/integration/cases/%s.*\n' $long) \
    tests/integration/cases/*.*
again_alone 600
if [ "$all" = yes ]; then
    lane 1800 tests/integration/cases/slow/*.* # some of them measure
fi

failures=$(find "$logs" -name '*.failed' | sed 's,.*/\(.*\)\.failed$,\1,' | sort)
# shellcheck disable=SC2086
[ -z "$failures" ] || echo failed: $failures
echo "$(count passed) passed, $(count failed) failed"
[ -z "$failures" ]
