#!/bin/sh
# run.sh - the tests.
#
# sh tests/run.sh          the core set, as CI runs it: from packages to verdict
#                          on a fresh Debian 12
# sh tests/run.sh --all    also the long ones
# sh tests/run.sh quick    build, unit tests and three cases
# sh tests/run.sh NAME...  the unit suite tests/unit/.../test_NAME.c, the fuzz
#                          target fuzz_NAME.c and the case
#                          tests/integration/cases/NAME.*: each that there is
#
# quick and NAMEs run in the build BUILD (build/release), which is brought up to
# date first.  A NAME may be the path of its file, and then means that alone.
#
# Prints a line per part and, last, how many passed, how many failed, and how
# many left something out that the machine lacks.  Each part runs once: what
# fails has failed.  Exit status: 0 none failed, 1 some failed, 64 usage.
set -u
cd "$(dirname "$0")/.." || exit 1
export PYTHONPATH="$PWD/tests/integration/lib"
python=${PYTHON:-/usr/bin/python3} # Debian's: it has Debian's modules
cases=tests/integration/cases
at_most=1200 # seconds that a case takes; the longest, beside others, 540

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM # the other lane ends when it finds no directory

usage() {
    sed -n '/^# sh tests/,/^#$/s/^#\( \|$\)//p' tests/run.sh >&2
    exit 64
}

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
        if grep '^skipped:' "$log" >"$logs/$name.lacked"; then
            : >"$logs/$name.skipped"
            verdict="ok, but"
        else
            : >"$logs/$name.passed"
        fi
    else
        verdict=FAILED
        important "$log" | cut -c 1-500 | sed 's/^/    /' \
            >"$logs/$name.failed"
    fi
    took=$(($(date +%s) - start))
    [ "$verdict" != FAILED ] || cat "$logs/$name.failed"
    [ "$verdict" != "ok, but" ] || sed 's/^/    /' "$logs/$name.lacked"
    echo "$verdict  $name ($took s)"
}

# count passed|failed|skipped
count() {
    find "$logs" -name "*.$1" | wc -l
}

# What the machine lacks, a test leaves out, and says so: a part that did counts
# as skipped.
lacked() {
    [ "$(count skipped)" = 0 ] || echo ", $(count skipped) skipped"
}

name_of() {
    basename "${1%.*}"
}

# run_case SECONDS FILE
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
    for file; do
        [ -e "$file" ] || continue
        mkdir "$logs/$(name_of "$file")" 2>/dev/null || continue
        run_case "$seconds" "$file"
    done
}

# side_by_side SECONDS FILE...: four at a time, for most of them wait: evidence.sh
# works for 3 s of its 56.
side_by_side() {
    lane "$@" &
    second=$!
    lane "$@" &
    third=$!
    lane "$@" &
    fourth=$!
    lane "$@"
    wait "$second" "$third" "$fourth"
    shift
    for file; do # of a lane that was killed
        name=$(name_of "$file")
        [ -e "$logs/$name.passed" ] || [ -e "$logs/$name.failed" ] ||
            [ -e "$logs/$name.skipped" ] || ! [ -e "$file" ] || : >"$logs/$name.failed"
    done
}

# Before each command that computes much; "nice" in a lane beside others.
behind=

build() {
    $behind cmake --preset "$1" && $behind cmake --build --preset "$@"
}

format() {
    git ls-files '*.c' '*.h' | $behind xargs clang-format --dry-run -Werror
}

# The analyzer ends at so many states of a function: at its own 225000 it takes
# more than twice the time.  sh tests/run.sh --all lets it.
tidy() {
    states=100000
    [ "$all" = no ] || states=225000
    git ls-files 'plugin/*.c' 'sql/*.c' 'server/*.c' |
        $behind xargs -P 2 -n 4 clang-tidy --quiet -p build/clang \
            --extra-arg=-Xclang --extra-arg=-analyzer-config \
            --extra-arg=-Xclang --extra-arg=max-nodes=$states
}

# units PRESET: four suites at a time, for some of them wait.
units() {
    ctest --preset "$1" -j 4 --no-tests=error
}

# Of the release build.
structure() {
    BUILD=build/release $behind "$python" tests/structure.py
}

# Statements at random need one processor.
grammar() {
    BUILD=build/asan timeout $at_most "$python" tests/fuzz/grammar.py 120
}

# All that computes and does not look at the time: it takes what the cases leave
# of two processors, which is about the half.
computations() {
    behind="nice -n 19"
    part build-asan build asan
    part grammar-asan grammar &
    grammar=$!
    for preset in clang tsan; do
        part "build-$preset" build "$preset"
    done
    part format format
    part structure structure
    part tidy tidy
    wait "$grammar"
}

verdict() {
    failures=$(find "$logs" -name '*.failed' |
        sed 's,.*/\(.*\)\.failed$,\1,' | sort)
    # shellcheck disable=SC2086
    [ -z "$failures" ] || echo failed: $failures
    echo "$(count passed) passed, $(count failed) failed$(lacked)"
    [ -z "$failures" ]
    exit
}

# ---- some of them, by name ----

# Whatever can be named, one a line: file names.
all_files() {
    find tests/unit -name 'test_*.c'
    find tests/fuzz -name 'fuzz_*.c'
    find "$cases" -name '*.sh' -o -name '*.py'
}

# files_of NAME: those it stands for; unit_NAME, as ctest calls it, is the suite.
files_of() {
    all_files | grep -xF "$1" && return
    all_files |
        grep -E "/((test|fuzz)_)?$(echo "$1" | sed 's/^unit_/test_/')\.(c|sh|py)\$"
}

# near NAME: what it may have been meant to be.
near() {
    all_files | sed -E 's,.*/((test|fuzz)_)?,,; s,\.[a-z]+$,,' | sort -u |
        "$python" -c 'import difflib, sys
name, names = sys.argv[1], sys.stdin.read().split()
near = difflib.get_close_matches(name, names, 6, 0.6)
near += [n for n in names if (name in n or n in name) and n not in near]
print(", ".join(near[:12]) or "nothing")' "$1"
}

# The ctest names of the suites among files, and the cases.
suites_in() {
    for file; do
        case $file in
        tests/unit/*) name_of "$file" | sed 's/^test_/unit_/' ;;
        tests/fuzz/*) name_of "$file" ;;
        esac
    done
}
cases_in() {
    for file; do
        case $file in "$cases"/*) echo "$file" ;; esac
    done
}

# these FILE...: in the one build; nothing runs where it fails.
these() {
    BUILD=${BUILD:-build/release}
    export BUILD
    preset=$(basename "$BUILD")
    suites=$(suites_in "$@")
    files=$(cases_in "$@")
    targets=
    # A case may need any program.
    [ -n "$files" ] || [ -z "$suites" ] ||
        targets="--target $(echo "$suites" | sed 's/^unit_/test_/')"
    # shellcheck disable=SC2086
    part build build "$preset" $targets
    [ "$(count failed)" = 0 ] || verdict
    for suite in $suites; do
        part "$suite" ctest --preset "$preset" -R "^$suite\$" --no-tests=error
    done
    # shellcheck disable=SC2086
    lane 1800 $files
    verdict
}

# The agent alone in a database, a node as people ask it, and five nodes.
quick() {
    BUILD=${BUILD:-build/release}
    export BUILD
    preset=$(basename "$BUILD")
    part build build "$preset"
    [ "$(count failed)" = 0 ] || verdict
    part units units "$preset"
    side_by_side $at_most $cases/agent_redis.sh $cases/sql.sh $cases/cluster.py
    verdict
}

all=no
case "${1:-}" in
'') ;;
--all)
    all=yes
    [ $# = 1 ] || usage
    ;;
quick)
    [ $# = 1 ] || usage
    quick
    ;;
-*) usage ;;
*)
    chosen=
    for wanted; do
        found=$(files_of "$wanted") || {
            echo "run.sh: there is no test $wanted; near it: $(near "$wanted")" >&2
            exit 64
        }
        chosen="$chosen $found"
    done
    # shellcheck disable=SC2086
    these $chosen
    ;;
esac

# ---- all of them ----

# One after the other, but for what is said to run beside another.
part packages sh docker/install.sh
# Since Go 1.24 it is built at its first use, which a case has no time for.
go tool pprof -h >/dev/null 2>&1 </dev/null &
part build-release build release

export BUILD=build/release
[ "$all" = yes ] && export FORKS=20000 ROUNDS=1000 MINUTES=20 HEAPWIRE_TEST_ALL=1
# They fail where an answer takes a second, and need the processors for that:
# readme.py builds and installs.
alone="readme hold_up accounts heap_tables shared_work"
# The longest ones first, so that none of them is left over for the end.
long="addresses linkages page prof_indexed cpu ids state_lost diagnosis
    page_hurry sqlviews links pictures symbolizer evidence tls
    evidence_container etcd protocol agent_api prepared jeprof bundle
    drills_etcd drills_partition drills_misfits peers companion control
    symbol_index"
computations &
computations=$!
others=$(ls $cases/*.* | grep -vE "/($(echo "$alone" | tr ' ' '|'))\.")
# shellcheck disable=SC2046,SC2086
side_by_side $at_most $(printf "$cases/%s.*\n" $long) $others
wait "$computations"

for preset in release asan tsan; do
    part "unit-$preset" units "$preset"
    unset HEAPWIRE_TEST_ALL # once is enough
done
for preset in asan tsan; do
    part "storm-$preset" env BUILD="build/$preset" \
        timeout $at_most "$python" $cases/storm.py
done
part waiting-tsan env BUILD=build/tsan timeout $at_most "$python" $cases/waiting.py
# shellcheck disable=SC2046,SC2086
lane $at_most $(printf "$cases/%s.*\n" $alone)
if [ "$all" = yes ]; then
    lane 1800 $cases/slow/*.* # some of them measure
fi
verdict
