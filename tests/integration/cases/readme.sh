#!/bin/sh
# readme.sh - every command of README.md, as it stands there.
#
# The "sh" blocks are run in order, in a directory of their own: what starts
# with heapwire-run in the background, until the end.  cmake --install goes to
# a DESTDIR of ours.  The two scripts under "Try it" are not run here: the
# demo is demo.sh's, and tests/run.sh is what runs this.
. tests/integration/lib/lib.inc

top=$PWD
export PATH="$bin:$PATH"

# The path in README is root's default.
if [ "$(id -u)" != 0 ] || [ -e /run/heapwire/10001/mysql.sock ]; then
    echo "readme.sh needs root, and node 10001 for itself"
    exit 1
fi

# What an earlier run left: snapshots outlive their node.
rm -f /run/heapwire/10001/snapshots/before.snapshot

# blocks LANGUAGE: the fenced blocks, each ended by a line "#end".
blocks() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$top/README.md" |
        sed -e "/^\`\`\`$1\$/d" -e 's/^```$/#end/'
}

run_block() {
    check
    case $1 in
    *cmake*) (cd "$top" && DESTDIR=$work/root sh -ec "$1") ;;
    *heapwire-run*)
        (cd "$work" && sh -ec "$(echo "$1" | grep -v '^heapwire-run')")
        cd "$work"
        # shellcheck disable=SC2091
        $(echo "$1" | grep '^heapwire-run') >node.log 2>&1 &
        pids="$! $pids"
        cd "$top"
        wait_for 10 mysql --no-defaults -S /run/heapwire/10001/mysql.sock \
            -u root -e "ADMIN EXECUTE ON 10001
                'HeapProf.getInstance().enable_prof()'"
        ;;
    *) (cd "$work" && sh -ec "$1") ;;
    esac >"$work/out" 2>&1 || {
        fault "README: $1"
        cat "$work/out"
    }
}

blocks sh >"$work/blocks"
block=
while IFS= read -r line; do
    if [ "$line" = '#end' ]; then
        run_block "$block"
        block=
    else
        block="$block$line
"
    fi
done <"$work/blocks"

[ "$checks" -ge 4 ] || fault "only $checks blocks were found"
contains "the last block" 'digraph' "$(cat "$work/heap.dot")"
contains "its picture" '<svg' "$(cat "$work/heap.svg")"
for file in bin/heapwire-run bin/heapwire-passwd bin/heapwire-prof \
    lib/heapwire/heapwired lib/heapwire/heapwire-symbolizer \
    lib/heapwire/libheapwire.so; do
    check
    [ -e "$work/root/usr/local/$file" ] || fault "not installed: $file"
done

# What is linked is named by install.sh runtime: a container has no more.
runtime=" libc6 $(sed -n '/^runtime=/,/"$/{s/^runtime=//;s/"//g;p}' \
    docker/install.sh | tr -s '\n ' ' ')"
needed=$(cd "$work/root/usr/local" && find bin lib -type f -exec readelf -d {} + \
    2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u)
for library in $needed; do
    check
    named=no
    for package in $(dpkg -S "*/$library" | sed 's/:.*//' | sort -u); do
        case "$runtime" in *" $package "*) named=yes ;; esac
    done
    [ "$named" = yes ] || fault "install.sh runtime lacks the package of $library"
done

redis_port=6390 # as README says
load_redis 20000
blocks python | sed '/^#end$/d' >"$work/example.py"
contains "the python example" "heap_" \
    "$(cd "$work" && $python example.py 2>&1)"

# The queries, against the snapshot that the example took.
blocks sql | sed '/^#end$/d' >"$work/queries.sql"
answers=$({
    echo 'SELECT name INTO @before FROM snapshots ORDER BY taken DESC LIMIT 1;'
    cat "$work/queries.sql"
} | mysql --no-defaults -S /run/heapwire/10001/mysql.sock -u root -D heapwire 2>&1)
contains 'who allocates' 'function	flat_bytes	cum_bytes' "$answers"
contains 'who grew' 'function	grown' "$answers"
contains 'the stacks are folded' ';main;' "$answers"

finish_test
