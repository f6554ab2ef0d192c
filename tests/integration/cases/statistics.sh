#!/bin/sh
# statistics.sh - the allocator's statistics as tables, beside what redis, the
# kernel and mariadb say of themselves.
. tests/integration/lib/lib.inc

# are_near A B PERCENT: neither is larger than the other by more.
are_near() {
    awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN {
        d = a > b ? a - b : b - a
        exit !(a > 0 && b > 0 && d <= (a > b ? a : b) * p / 100)
    }'
}
# near WHAT A B PERCENT: A and B are commands, which look one after the other,
# at what may change between them: until they see the same.
near() {
    check
    near_a=$2 near_b=$3 near_percent=$4
    wait_for 60 looks_near ||
        fault "$1: $(eval "$2") and $(eval "$3") differ by more than $4%"
}
looks_near() {
    are_near "$(eval "$near_a")" "$(eval "$near_b")" "$near_percent"
}

# sql_is WANTED STATEMENT
sql_is() {
    [ "$(sql "$2")" = "$1" ]
}
# at_once WHAT WANTED STATEMENT: whose tables are of one moment, unless more than
# a second passes within it.
at_once() {
    check
    wait_for 60 sql_is "$2" "$3" || fault "$1: expected '$2', got '$(sql "$3")'"
}

# one COLUMN: of heapwire.memory.
one() {
    sql "select $1 from heapwire.memory"
}

info() {
    redis-cli -p "$redis_port" info memory | tr -d '\r' | sed -n "s/^$1://p"
}

status_rss() {
    awk '/^VmRSS:/ { print $2 * 1024 }' "/proc/$1/status"
}

# Waits until the node's figures are of now: equal requests of one second share
# an answer.
fresh() {
    now=$(sql 'select now(6)')
    wait_for 60 sql_is 1 "select taken > '$now' from heapwire.memory"
}

start_redis
load_redis 100000
fresh

same "the only jemalloc" "libjemalloc.so.2	mallctl	MALLOC_CONF	1	1	1	1	0	1	1	exported	" \
    "$(sql "select substring_index(object, '/', -1), mallctl, variable, chosen,
        callable, can_profile, opt_prof, active, serves_malloc, serves_new,
        found, note from heapwire.allocators")"
near "its bytes" "sql 'select allocated from heapwire.allocators'" \
    "info used_memory" 5
near "rss" "one rss" "status_rss $redis" 3
near "allocated" "one allocated" "info used_memory" 5
same "unexplained" 0 "$(one 'rss - resident - unexplained')"
same "in order" 1 "$(one 'allocated <= active and active <= resident
    and resident <= mapped and rss_file < rss')"
contains "the note" "free parts of pages in use" "$(one note)"
contains "the note on the profile" "profiling is not active" "$(one note)"
same "no profile" "NULL	NULL" "$(one 'profile_bytes, profile_samples')"

fresh
at_once "statistics and memory are of one moment" 0 \
    "select m.allocated - s.value from heapwire.memory m,
        heapwire.malloc_stats s where s.name = 'stats.allocated'"
same "words" "NULL	default" \
    "$(sql "select value, text from heapwire.malloc_stats
        where name = 'opt.thp'")"
at_once "bins and large ones make all that is allocated" 1 \
    'select sum(b.allocated) + (select sum(large_allocated)
        from heapwire.malloc_arenas) = (select allocated from heapwire.memory)
        from heapwire.malloc_bins b'
at_once "arenas make all that is active" 1 \
    'select sum(a.active) = (select active from heapwire.memory)
        from heapwire.malloc_arenas a'
same "what the slabs have and no object uses" 0 "$(sql 'select count(*)
    from heapwire.malloc_bins where wasted <> (regions * curslabs - curregs)
    * size or wasted < 0')"
same "mappings are the rss" 1 "$(sql 'select abs(sum(m.rss) - max(x.rss)) <
    max(x.rss) / 10 and sum(m.rss) > 1000000 from heapwire.mappings m,
    heapwire.memory x')"
same "the program is among them" file "$(sql "select distinct kind
    from heapwire.mappings where name like '%/redis-server' or name like
    '%/redis-check-rdb'")"
same "the program is what was started" redis-server "$(sql "select
    substring_index(program, '/', -1) from heapwire.profiler")"
same "bins ascend" 0 "$(sql 'select count(*) from heapwire.malloc_bins a
    join heapwire.malloc_bins b on b.bin = a.bin + 1 where b.size <= a.size')"
same "utilization" 1 "$(sql 'select min(utilization) >= 0 and
    max(utilization) <= 1 from heapwire.malloc_bins')"

# Profiling on: the profile's total stands beside.
prof 'enable_prof()' >/dev/null
redis-cli -p "$redis_port" debug jmap >/dev/null 2>&1 || true
redis-cli -p "$redis_port" flushall >/dev/null
load_redis 100000
fresh
same "a profile" 1 "$(one 'profile_bytes > 1000000 and profile_samples > 10
    and profile_bytes < 2 * allocated')"
contains "its share" "MB that were allocated then: what was allocated since 20" "$(one note)"
prof 'disable_prof()' >/dev/null

# The whole statement is quick, and equal ones within a second share.
started=$(milliseconds)
for _ in 1 2 3 4 5; do
    sql 'select 1' >/dev/null
done
plain=$(($(milliseconds) - started))
started=$(milliseconds)
for _ in 1 2 3 4 5; do
    one allocated >/dev/null
done
took=$(($(milliseconds) - started))
check
[ "$took" -lt $((5 * plain + 1000)) ] || # clients take most of it
    fault "five reads took $took ms, of nothing $plain ms"

# Of a stopped database there are the kernel's figures, and the allocator's of
# before, with their time; the allocator's tables have none.
told=$(one allocated)
freeze "$redis"
wait_for 60 sql_is 0 "select answered from heapwire.memory"
contains "stopped" "the allocator's figures are of 20" "$(one note)"
contains "stopped, and why" "is stopped by a signal" "$(one note)"
near "stopped: jemalloc's" "one allocated" "echo $told" 3
same "stopped: not compared" 1 "$(one 'active + metadata + resident + mapped +
    retained > 0 and coalesce(unexplained, profile_bytes) is null')"
near "stopped: rss" "one rss" "status_rss $redis" 3
for table in malloc_stats malloc_bins malloc_arenas allocators; do
    contains "stopped: $table" "ERROR 1105 (HY000) at line 1: the database" \
        "$(sql "select * from heapwire.$table" || true)"
done
kill -CONT "$redis"
wait_for 60 sql_is 1 "select answered from heapwire.memory"
stop_node

# What is allocated right after jemalloc's figures were refreshed, which is done
# once a second, does not lie outside jemalloc.
rm -rf "$work/node"
cat >"$work/grower.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    FILE *orders = fopen(argv[argc - 1], "r");
    char line[32], *p;
    while (fgets(line, sizeof(line), orders)) {
        p = malloc(strtoul(line, NULL, 10) << 20);
        memset(p, 1, strtoul(line, NULL, 10) << 20);
        puts(p);
    }
    return 0;
}
END
cc -O0 -w -o "$work/grower" "$work/grower.c"
mkfifo "$work/orders"
node_options="--listen none --profiling-source jemalloc"
start_node "$work/grower" "$work/orders"
exec 3>"$work/orders"
wait_for 60 one allocated
prof 'enable_prof()' >/dev/null
has_grown() {
    [ "$(status_rss "$(sql 'select max(pid) from heapwire.memory_history')")" \
        -gt $((60 << 20)) ]
}
wait_for 60 sql_is 1 'select count(*) > 0 from heapwire.memory_history'
fresh
outside=$(one 'rss - resident')
echo 60 >&3
wait_for 60 has_grown
kept=$(prof 'snapshot()')
now=$(sql "select rss - resident from heapwire.snapshots
    where name = '$kept'")
echo "outside jemalloc: $outside, and $now after 60 MB"
check
[ $((now - outside)) -lt $((20 << 20)) ] || fault "60 MB are outside jemalloc"
one_time() {
    kept=$(prof 'snapshot()')
    sql_is 1 "select rss_taken = allocator_taken and
        abs(timestampdiff(second, taken, rss_taken)) <= 2
        from heapwire.snapshots where name = '$kept'"
}
check
wait_for 60 one_time || fault "not of one time: $(sql "select taken, rss_taken,
    allocator_taken from heapwire.snapshots where name = '$kept'")"
exec 3>&-
stop_node

# A database that is no jemalloc's: the kernel's figures, and why no others.
rm -rf "$work/node"
node_options="--listen none --profiling-source jemalloc --jemalloc no"
start_node /bin/sleep 1000
wait_for 60 one rss
contains "no jemalloc" "only the kernel's figures" "$(one note)"
contains "no jemalloc, no bins" "does not allocate through jemalloc" \
    "$(sql 'select * from heapwire.malloc_bins' || true)"
stop_node

# mariadb, which drops root and may hide its memory map, but not its size.
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$work"
    rm -rf "$work/node"
    mkdir "$work/db"
    mariadb-install-db --no-defaults --force --datadir="$work/db/data" --tmpdir="$work/db/data" \
        --user=mysql --auth-root-authentication-method=normal \
        >"$work/install.log" 2>&1
    chown mysql "$work/db"
    node_options="--listen none --profiling-source jemalloc"
    start_node /usr/sbin/mariadbd --no-defaults --user=mysql \
        --datadir="$work/db/data" --tmpdir="$work/db/data" --socket="$work/db/db.sock" \
        --skip-networking --pid-file="$work/db/pid"
    wait_for 60 test -s "$work/db/pid"
    wait_for 60 one allocated
    fresh
    near "mariadb's rss" "one rss" "status_rss $(cat "$work/db/pid")" 5
    same "mariadb's order" 1 "$(one 'allocated <= active and active <= resident
        and allocated > 1000000')"
    contains "mariadb's note" "rss" "$(one note)"
fi

finish_test
