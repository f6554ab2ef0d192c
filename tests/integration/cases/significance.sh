#!/bin/sh
# significance.sh - what heap_diff calls significant: nothing of a redis that is
# busy and does not grow, in 99 of 100 differences; and a leak of 30 MB below a
# function that has 500 MB for good.
. tests/integration/lib/lib.inc

# any NOW BASE: whether that difference has a significant function.
any() {
    sql "select count(*) > 0 from heapwire.heap_diff
        where snapshot = '$1' and base = '$2' and significant"
}

start_redis
prof 'enable_prof()' >/dev/null
# Keys are overwritten, in part by values of another size; and the clients that
# did it have gone, with their buffers.
overwrite() {
    redis-benchmark -p "$redis_port" -n 20000 -r 2000 -d "$1" -P 16 -q -t set \
        >/dev/null
    wait_for 60 alone
}
alone() {
    redis-cli -p "$redis_port" info clients | grep -q '^connected_clients:1.$'
}
for size in 200 3000 700; do overwrite "$size"; done
overwrite 2000
prof 'snapshot("s0")' >/dev/null
shown=0
for i in $(seq 20); do
    overwrite 2000
    prof "snapshot(\"s$i\")" >/dev/null
    shown=$((shown + $(any "s$i" "s$((i - 1))")))
done
echo "of 20 differences of a steady redis $shown have a significant function"
check
[ "$shown" -le 4 ] || # chance makes more once in a million runs
    fault "$shown of 20 differences show chance"
stop_node

rm -rf "$work/node"
cat >"$work/holder.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) char *cache(void) { return malloc(4096); }
__attribute__((noinline)) char *session(void) { return malloc(512); }
__attribute__((noinline)) void work(char what, long count)
{
    while (count-- > 0) {
        char *p = what == 'c' ? cache() : session();
        p[0] = what;
    }
    fflush(stdout);
}
int main(int argc, char **argv)
{
    FILE *orders = fopen(argv[argc - 1], "r");
    char line[32];
    while (fgets(line, sizeof(line), orders)) {
        work(line[0], strtol(line + 1, NULL, 10));
        remove(argv[1]);
    }
    return 0;
}
END
cc -O1 -fno-omit-frame-pointer -w -o "$work/holder" "$work/holder.c"
mkfifo "$work/orders"
start_node "$work/holder" "$work/busy" "$work/orders"
exec 3>"$work/orders"
prof_works() {
    [ "$(prof 'has_enable()')" = true ] ||
        { prof 'enable_prof()' && [ "$(prof 'has_enable()')" = true ]; }
}
wait_for 60 prof_works
# order LETTER COUNT: and waits until it is carried out.
idle() { [ ! -e "$work/busy" ]; }
order() {
    touch "$work/busy"
    echo "$1$2" >&3
    wait_for 60 idle
}
order c 128000
order s 2000
prof 'snapshot("before")' >/dev/null
order s 61440
prof 'snapshot("after")' >/dev/null
sql "select function, cum_bytes, cum_error, significant from heapwire.heap_diff
    where snapshot = 'after' and base = 'before'"
same "the leak, and its caller" "session work" \
    "$(sql "select group_concat(function order by function separator ' ')
    from heapwire.heap_diff where snapshot = 'after' and base = 'before'
    and significant and function in ('work', 'session', 'cache')")"
same "what is held has its error" 1 "$(sql "select cum_bytes > 4e8 and
    cum_error between 1e7 and 3e7 from heapwire.heap_functions
    where snapshot = 'after' and function = 'cache'")"
exec 3>&-
stop_node
finish_test
