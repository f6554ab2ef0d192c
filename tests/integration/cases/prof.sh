#!/bin/sh
# prof.sh - heapwire-prof's flags, exit statuses and what it says of bad input.
set -eu

build=${BUILD:-build/release}
case $build in /*) ;; *) build=$(pwd)/$build ;; esac
prof=$build/bin/heapwire-prof
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
failed=0

# expect STATUS WORDS ARGUMENTS...: runs heapwire-prof; WORDS are in its output.
expect() {
    wanted=$1 words=$2
    shift 2
    status=0
    "$prof" "$@" >"$dir/out" 2>"$dir/err" || status=$?
    if [ "$status" != "$wanted" ] ||
        ! cat "$dir/out" "$dir/err" | grep -qF -- "$words"; then
        echo "heapwire-prof $*: status $status, not $wanted, or no '$words':"
        cat "$dir/out" "$dir/err"
        failed=1
    fi
}

silent_stdout() {
    [ ! -s "$dir/out" ] || { echo "an error printed to stdout"; failed=1; }
}

valid_dot() {
    command -v dot >/dev/null || return 0
    dot -Tplain "$dir/out" >/dev/null || { echo "not DOT"; failed=1; }
}

cat >"$dir/empty.heap" <<'HEAP'
heap_v2/524288
  t*: 0: 0 [0: 0]

MAPPED_LIBRARIES:
00400000-00501000 r-xp 00000000 00:00 0    /nowhere/"at" all
HEAP
cat >"$dir/one.heap" <<'HEAP'
heap_v2/524288
  t*: 1: 2097152 [0: 0]
@ 0x401000 0x402000
  t*: 1: 2097152 [0: 0]

MAPPED_LIBRARIES:
00400000-00501000 r-xp 00000000 00:00 0    /nowhere/"at" all
HEAP
head -c 90 "$dir/one.heap" >"$dir/cut.heap"

printf 'HWSNAP\r\n' >"$dir/a.snapshot"
expect 1 "--base=$dir/a.snapshot $dir/b.snapshot" --text "$dir/a.snapshot" \
    "$dir/b.snapshot"
expect 1 "one.heap is a profile, not a program; to show what grew since, use \
--base=$dir/one.heap BINARY $dir/cut.heap" --text "$dir/one.heap" "$dir/cut.heap"
silent_stdout

expect 0 "Usage: heapwire-prof --FORM" --help
expect 0 "--edgefraction=F" --help
expect 0 " --dot --text --top" --help
expect 0 " --functions --lines --files --addresses" --help
expect 0 "heapwire-prof 1." --version
expect 2 "unknown flag --gv; see --help" --gv a b
silent_stdout
expect 2 "unknown flag --node" --dot --node=3 a b
expect 2 "a value is missing: --nodecount" --dot --nodecount
expect 2 "not a count: -1" --dot --nodecount=-1 a b
expect 2 "not a count: 8x" --dot --maxdegree=8x a b
expect 2 "not a fraction from 0 to 1: 2" --dot --nodefraction=2 a b
expect 2 "not a fraction from 0 to 1: nan" --dot --edgefraction=nan a b
expect 2 "needs BINARY and PROFILE" --dot
expect 1 "is jemalloc's own profile, without names" --dot "$dir/one.heap"
expect 2 "needs BINARY and PROFILE" --dot /bin/true a b
expect 2 "nothing to show: give --dot, --text" /bin/true a
expect 2 "one form at a time, not also --text" --dot --text /bin/true a

expect 1 "$dir/none.heap" --dot /bin/true "$dir/none.heap"
silent_stdout
expect 1 "cannot read $dir/none" --dot "$dir/none" "$dir/one.heap"
expect 1 "not a jemalloc heap profile" --dot /bin/true /bin/true
expect 1 "/dev/null: not a jemalloc heap profile" --dot /bin/true /dev/null
silent_stdout

expect 0 'nothing sampled\l' --dot /bin/true "$dir/empty.heap"
valid_dot
expect 0 'Total MB: 2.' --dot /bin/true "$dir/one.heap"
valid_dot
expect 0 'The profile was cut off\l' --dot /bin/true "$dir/cut.heap"
grep -qF "heapwire-prof: $dir/cut.heap was cut off" "$dir/err" || failed=1
valid_dot
# Whatever the order of flags and names, and as jeprof spells them.
expect 0 'digraph "/bin/true; 2.' /bin/true "$dir/one.heap" --dot \
    --nodecount=0 --nodefraction=0 --edgefraction .5 --maxdegree=1
if grep -q '^N1' "$dir/out"; then
    echo "--nodecount=0 shows a node"
    failed=1
fi

# The other forms, measures and filters; the graph's own are jeprof.sh's.
expect 0 "Total: 2.0 MB" --text /bin/true "$dir/one.heap"
expect 0 " 100.0% 0x401000" --text /bin/true "$dir/one.heap"
expect 0 "Total: 2136279 B" --text --show_bytes /bin/true "$dir/one.heap"
expect 0 "Total: 1 objects" --top --inuse_objects /bin/true "$dir/one.heap"
expect 1 "prof_accum:true" --text --alloc_space /bin/true "$dir/one.heap"
silent_stdout
expect 0 "0000000000401000" --text --addresses /bin/true "$dir/one.heap"
expect 0 "no stack matches" --text --focus=nothing /bin/true "$dir/one.heap"
expect 0 "no stack matches" --dot --ignore=. /bin/true "$dir/one.heap"
expect 0 "" --collapsed --focus=nothing /bin/true "$dir/one.heap"
silent_stdout
expect 1 "focus: bad regular expression at offset 1" --text --focus='(' \
    /bin/true "$dir/one.heap"
silent_stdout

# Differences.
expect 0 "Total: 2.0 MB" --text --base="$dir/empty.heap" /bin/true \
    "$dir/one.heap"
expect 0 "Total: -2.0 MB" --text --base "$dir/one.heap" /bin/true \
    "$dir/empty.heap"
expect 0 "nothing changed" --text --by-growth --base "$dir/one.heap" /bin/true \
    "$dir/one.heap"
expect 1 "$dir/none.heap" --text --base "$dir/none.heap" /bin/true \
    "$dir/one.heap"
silent_stdout
sed 's,/nowhere,/elsewhere,' "$dir/one.heap" >"$dir/moved.heap"
expect 0 "nothing changed" --text --by-growth --base "$dir/moved.heap" \
    /bin/true "$dir/one.heap"
sed 's,at" all,other,' "$dir/one.heap" >"$dir/other.heap"
expect 1 "one.heap is a profile of /nowhere/\"at\" all, and $dir/other.heap \
of /nowhere/\"other; add --force to" --text --base "$dir/other.heap" \
    /bin/true "$dir/one.heap"
silent_stdout
expect 0 "nothing changed" --text --force --base "$dir/other.heap" /bin/true \
    "$dir/one.heap"
sed 's,00501000,00502000,' "$dir/one.heap" >"$dir/rebuilt.heap"
expect 1 'are profiles of two builds of /nowhere/"at" all' --text \
    --base "$dir/rebuilt.heap" /bin/true "$dir/one.heap"
silent_stdout

# What is no program.
mkfifo "$dir/pipe"
expect 1 "$dir/pipe is no program: it is a pipe" --text "$dir/pipe" \
    "$dir/one.heap"
expect 1 "/dev/null is no program: it is not a regular file" --text /dev/null \
    "$dir/one.heap"
expect 1 "$dir is no program: it is a directory" --text "$dir" "$dir/one.heap"
expect 1 "$dir is no program: it is a directory" --index "$dir"
expect 1 "/dev/null is no program" --index /dev/null
expect 1 "$dir/pipe is no program" --index "$dir/pipe"
silent_stdout

# Our own snapshots need no BINARY.
"$build/bin/snapshot_driver" "$dir/one.heap" 7 >"$dir/seven"
"$build/bin/snapshot_driver" "$dir/empty.heap" 7 >"$dir/empty"
"$build/bin/snapshot_driver" "$dir/empty.heap" 8 >"$dir/eight"
expect 0 ' all+0x1000' --text "$dir/seven"
expect 0 'Total: 2.0 MB' --text /bin/true "$dir/seven"
expect 0 'Total: -2.0 MB' --text --base "$dir/seven" "$dir/empty"
expect 1 'of_8 (pid 8) are of different processes; add --force to' --text \
    --base "$dir/eight" "$dir/seven"
silent_stdout
expect 0 'Total: 2.0 MB' --text --force --base "$dir/eight" "$dir/seven"
expect 0 'Total: 2.0 MB' --text --base "$dir/eight" /bin/true "$dir/one.heap"
head -c 200 "$dir/seven" >"$dir/part"
expect 1 "heapwire-prof: $dir/part: its head is cut off" --text "$dir/part"
silent_stdout
# As a client writes it: with a newline behind it, but not with more.
{ cat "$dir/seven" && echo; } >"$dir/newline"
expect 0 'Total: 2.0 MB' --text "$dir/newline"
expect 0 'Total: -2.0 MB' --text --base "$dir/newline" "$dir/empty"
{ cat "$dir/newline" && echo; } >"$dir/newlines"
expect 1 "heapwire-prof: $dir/newlines: it is longer than it says" --text \
    "$dir/newlines"
silent_stdout

# Symbol indexes: what goes wrong; symbolizer.sh has what goes right.
expect 2 "needs one BINARY" --index
expect 2 "needs one BINARY" --index a b
expect 2 "--index shows nothing: not also --dot" --index --dot a
expect 2 "--index shows nothing: not also --base" --index --base=x a
expect 2 "--output is for --index" --dot --output=x a b
expect 1 "cannot read $dir/none: No such file" --index "$dir/none"
expect 1 "$dir/one.heap is not a readable 64-bit" --index "$dir/one.heap"
echo 'int main(void) { return 0; }' >"$dir/nothing.c"
gcc -g -o "$dir/anonymous" -Wl,--build-id=none "$dir/nothing.c"
expect 1 "has no build-id" --index "$dir/anonymous"
gcc -s -o "$dir/bare" -Wl,--build-id "$dir/nothing.c"
expect 1 "it has no debug information" --index "$dir/bare"
gcc -g -o "$dir/nothing" -Wl,--build-id "$dir/nothing.c"
expect 1 "$dir/none/x: No such file" --index --output="$dir/none/x" \
    "$dir/nothing"
silent_stdout
expect 2 "either --output or --symbols" --index --output=x --symbols=y a
if ! (ulimit -f 0 && "$prof" --index "$dir/nothing" 2>&1) |
    grep -q "nothing.hwindex: File too large"; then
    echo "the error does not name ulimit -f"
    failed=1
fi
if ls "$dir" | grep hwindex; then
    echo "a failure leaves an index"
    failed=1
fi

# And in a directory, by build-id, where they are found.
mkdir "$dir/symbols"
expect 0 "$dir/symbols/" --index --symbols="$dir/symbols" "$dir/nothing"
id=$(readelf -n "$dir/nothing" | sed -n 's/.*Build ID: //p')
[ -s "$dir/symbols/$id.hwindex" ] || { echo "no index by build-id"; failed=1; }

# heap_of ELF [BYTES]: a profile of it, with one stack in its main().
heap_of() {
    main=0x$(nm "$1" | sed -n 's/ T main$//p')
    readelf -lW "$1" | sed -n 's/^ *LOAD \(.*\) R E .*/\1/p' |
        while read -r offset start _ _ size; do
            printf 'heap_v2/1\n  t*: 1: %s [0: 0]\n' "${2:-1000}"
            printf '@ 0x%x\n  t*: 1: %s [0: 0]\n' $((main + 1)) "${2:-1000}"
            printf '\nMAPPED_LIBRARIES:\n%x-%x r-xp %x 00:01 %s %s\n' \
                $((start)) $(((start + size + 4095) / 4096 * 4096)) \
                $((offset)) "$(stat -c %i "$1")" "$1"
        done
}

# A warning names each index that cannot be used, once.
gcc -g -no-pie -o "$dir/mapped" -Wl,--build-id "$dir/nothing.c"
heap_of "$dir/mapped" >"$dir/mapped.heap"
index=$dir/mapped.hwindex
expect 0 " main" --text "$dir/mapped" "$dir/mapped.heap"
[ ! -s "$dir/err" ] || { echo "a complaint: $(cat "$dir/err")"; failed=1; }
unused() { # TEXT FLAGS...
    text=$1
    shift
    expect 0 " main" "$@" --text "$dir/mapped" "$dir/mapped.heap"
    if [ "$(grep -c "mapped: its symbol index .*$text" "$dir/err")" != 1 ] ||
        [ "$(wc -l <"$dir/err")" != 1 ]; then
        echo "$text: $(cat "$dir/err")"
        failed=1
    fi
    rm -rf "$index"
}
ln -s "$dir/symbols/$id.hwindex" "$index"
unused "mapped.hwindex is skipped: it is a symbolic link"
mkdir "$index"
unused "mapped.hwindex is skipped: it is not a regular file"
echo x >"$index"
chmod 606 "$index"
unused "mapped.hwindex is skipped: it is world-writable"
cp "$dir/symbols/$id.hwindex" "$index"
unused "is unusable"
mapped=$(readelf -n "$dir/mapped" | sed -n 's/.*Build ID: //p')
mkfifo "$dir/symbols/$mapped.hwindex"
unused "$mapped.hwindex is skipped: it is not a regular file" \
    --symbols="$dir/symbols"
expect 0 "cannot look for indexes in --symbols=$dir/none: No such file" --text \
    --symbols="$dir/none" "$dir/mapped" "$dir/mapped.heap"
expect 0 "cannot look for indexes in --symbols=$dir/nothing: Not a directory" \
    --text --symbols="$dir/nothing" "$dir/mapped" "$dir/mapped.heap"

# A warning names what was replaced since, or it is written again.
others="files of $dir/mapped.heap were replaced: $dir/mapped: names are wrong"
cp "$dir/mapped" "$dir/copy"
mv "$dir/copy" "$dir/mapped"
expect 0 "$others" --text "$dir/mapped" "$dir/mapped.heap"
bold=$dir/$(printf '\033[1mother')
cp "$dir/mapped" "$bold"
ln -s nowhere "$bold.hwindex"
sed "s,00:00 0 .*,08:01 1 $bold," "$dir/one.heap" >"$dir/bold.heap"
for words in "$dir/?[1mother: names are wrong" \
    "?[1mother: its symbol index ?[1mother.hwindex is skipped"; do
    expect 0 "$words" --text "$dir/mapped" "$dir/bold.heap"
done
mkdir "$dir/else"
cp "$dir/mapped" "$dir/else/mapped"
expect 0 " main" --text "$dir/else/mapped" "$dir/mapped.heap"
[ ! -s "$dir/err" ] || { echo "a copy: $(cat "$dir/err")"; failed=1; }

# A warning names another build in the program's place, whatever its size.
heap_of "$dir/mapped" >"$dir/mapped.heap"
echo 'int main(void) { return 1; }' >"$dir/something.c"
gcc -g -no-pie -o "$dir/later" -Wl,--build-id "$dir/something.c"
expect 0 "later is another build than $dir/mapped, the file in $dir/mapped.heap" \
    --text "$dir/later" "$dir/mapped.heap"
mv "$dir/mapped" "$dir/earlier"
mv "$dir/later" "$dir/mapped"
expect 0 " main" --text "$dir/earlier" "$dir/mapped.heap"
[ ! -s "$dir/err" ] || { echo "as it was: $(cat "$dir/err")"; failed=1; }
expect 0 "$others" --text "$dir/mapped" "$dir/mapped.heap"
mv "$dir/earlier" "$dir/mapped"
# One that was written again has no inodes of files.
sed 's,00:01 [0-9]* ,00:00 1 ,' "$dir/mapped.heap" >"$dir/again.heap"
expect 0 " main" --text "$dir/mapped" "$dir/again.heap"
[ ! -s "$dir/err" ] || { echo "written again: $(cat "$dir/err")"; failed=1; }
sed '/MAPPED_LIBRARIES/,$d' "$dir/mapped.heap" >"$dir/unmapped.heap"
expect 0 "mapped: its place is unknown: the profile has no mappings" \
    --text "$dir/mapped" "$dir/unmapped.heap"
heap_of "$dir/mapped" >"$dir/mapped.heap"
touch -d '1 minute ago' "$dir/mapped.heap"
expect 0 "$others" --text "$dir/mapped" "$dir/mapped.heap"

# As under a limit of memory.
if ! (ulimit -v 200000 && "$prof" --text "$dir/mapped" "$dir/mapped.heap") \
    2>"$dir/err" | grep -q " main"; then
    echo "ulimit -v: $(cat "$dir/err")"
    failed=1
fi

# A large one is read on two cores, if there are two and it is no pipe: whole,
# cut off at any place, and with a wrong line in either half.
python3 - "$dir" <<'EOF'
import random, sys
roll = random.Random(4)
lines = ["heap_v2/524288", "  t*: 9: 99 [0: 0]"]
for i in range(9000):
    lines.append("@" + "".join(f" 0x{0x400000 + roll.randrange(3000):x}"
                               for _ in range(roll.randrange(1, 30))))
    lines.append(f"  t*: {1 + i % 5}: {4096 + i} [0: 0]")
tail = ["", "MAPPED_LIBRARIES:",
        "00400000-00500000 r-xp 00000000 00:00 0 ", ""]
def write(name, text):
    with open(f"{sys.argv[1]}/{name}.large", "w", encoding="ascii") as file:
        file.write(text)
text = "\n".join(lines + tail)
write("whole", text)
for part in (3, 5, 8):
    write(f"cut{part}", text[:len(text) * part // 10 + part])
for at in (1000, 17000):
    write(f"wrong{at}", "\n".join(lines[:at] + ["@ 0x12 zz"] + lines[at:] +
                                  tail))
EOF
for large in "$dir"/*.large; do
    "$prof" --text --nodecount=500 /bin/true "$large" >"$dir/file.out" \
        2>"$dir/file.err" && one=0 || one=$?
    "$prof" --text --nodecount=500 /bin/true /dev/stdin <"$large" \
        >"$dir/in.out" 2>"$dir/in.err" && other=0 || other=$?
    # shellcheck disable=SC2002 # a pipe is wanted
    cat "$large" | "$prof" --text --nodecount=500 /bin/true /dev/stdin \
        >"$dir/pipe.out" 2>"$dir/pipe.err" && third=0 || third=$?
    sed -i "s,$large,/dev/stdin," "$dir/file.err"
    if [ "$one$other" != "$third$third" ] ||
        ! cmp -s "$dir/file.out" "$dir/pipe.out" ||
        ! cmp -s "$dir/in.out" "$dir/pipe.out" ||
        ! cmp -s "$dir/file.err" "$dir/pipe.err"; then
        echo "$large: in halves, and as a pipe:"
        cat "$dir/file.err" "$dir/pipe.err"
        failed=1
    fi
done
[ "$(wc -l <"$dir/pipe.err")" -ge 1 ] || { echo "no error was told"; failed=1; }

# Forty sites of one template and forty inlined functions without a linkage name
# are eighty rows, of a program that ran; jeprof's forms add the former up.
echo 'int sites_entry(int n); int main(int c, char **) { return sites_entry(c); }' |
    g++ -O2 -g -o "$dir/sites" -x c++ tests/integration/programs/addresses/sites.cc - \
        -ljemalloc
MALLOC_CONF="prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:$dir/sites" \
    "$dir/sites" || :
for form in --top --text; do
    "$prof" $form --nodecount=500 --show_bytes "$dir/sites" "$dir"/sites.*.heap \
        >"$dir/sites.out"
    found=$(grep -cE ' churn[1-4][0-9] \(inline\)$' "$dir/sites.out" || :)
    found="$found $(grep -cE 'Site<[1-4][0-9]>::keep' "$dir/sites.out" || :)"
    case $form:$found in
    --text:"40 0" | --top:"40 40") ;;
    *) echo "$form: $found sites"; cat "$dir/sites.out"; failed=1 ;;
    esac
done

# A full disk is an error.
status=0
"$prof" --dot /bin/true "$dir/one.heap" >/dev/full 2>"$dir/err" || status=$?
if [ "$status" != 1 ] || ! grep -q "cannot write to stdout" "$dir/err"; then
    echo "/dev/full: status $status"
    failed=1
fi

[ $failed = 0 ] && echo "prof.sh: ok"
exit $failed
