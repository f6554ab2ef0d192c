/*
 * node_facts.c - learns what a node says of itself: see facts.h.
 *
 * Each row of questions is a statement and the facts that its cells become.  A
 * statement that fails leaves its facts unknown and the others still run, so an
 * old node without a table is no error; only if the node itself cannot be asked
 * does it end.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "clock.h"
#include "facts.h"

/* The cells of the first row become these facts, in this order.  If the
 * statement fails, its text becomes error.  All are cheap except the last
 * three, which cost the database a second of processor sampling, the stacks of
 * its threads and a heap profile. */
static const struct {
    const char *sql;
    enum fact facts[9];
    unsigned count;
    enum fact error; /* FACTS means none */
} questions[] = {
    {"SELECT state, since, profiling, reason, source, risks, program, "
     "guard_reason FROM profiler",
     {FACT_STATE, FACT_SINCE, FACT_PROFILING, FACT_REASON, FACT_SOURCE,
      FACT_RISKS, FACT_PROGRAM, FACT_GUARD_REASON},
     8,
     FACT_NODE_ERROR},
    {"SELECT object, callable, note FROM allocators ORDER BY chosen DESC "
     "LIMIT 1",
     {FACT_ALLOCATOR, FACT_CALLABLE, FACT_ALLOCATOR_NOTE},
     3,
     FACTS},
    {"SELECT value FROM malloc_stats WHERE name = 'background_thread'",
     {FACT_BACKGROUND_THREAD},
     1,
     FACTS},
    {"SELECT value FROM malloc_stats WHERE name = 'opt.dirty_decay_ms'",
     {FACT_DIRTY_DECAY_MS},
     1,
     FACTS},
    {"SELECT cgroup_limit, rss, answered FROM memory",
     {FACT_CGROUP_LIMIT, FACT_RSS, FACT_ANSWERED},
     3,
     FACT_MEMORY_ERROR},
    {"SELECT pid, descriptors, descriptors_max, failed_snapshots FROM daemon",
     {FACT_DAEMON_PID, FACT_DESCRIPTORS, FACT_DESCRIPTORS_MAX,
      FACT_FAILED_SNAPSHOTS},
     4,
     FACTS},
    {"SELECT (SELECT value FROM settings WHERE name = 'state_dir'), "
     "(SELECT value FROM settings WHERE name = 'linger'), "
     "(SELECT value FROM settings WHERE name = 'snapshots.keep_bytes'), "
     "(SELECT value FROM settings WHERE name = 'snapshots.at_percent'), "
     "(SELECT value FROM settings WHERE name = 'symbols.debuginfod_urls')",
     {FACT_STATE_DIR, FACT_LINGER, FACT_KEEP_BYTES, FACT_AT_PERCENT,
      FACT_DEBUGINFOD_URLS},
     5,
     FACTS},
    {"SELECT COUNT(*), SUM(alive = 0 AND self = 0), MAX(CASE WHEN alive = 0 "
     "AND "
     "self = 0 THEN CONCAT(id, ': ', COALESCE(last_error, CONCAT('its database "
     "is ', state))) END) FROM nodes WHERE COALESCE(state, '') <> 'left'",
     {FACT_NODES, FACT_NODES_DOWN, FACT_NODES_ERROR},
     3,
     FACTS},
    {"SELECT SUBSTRING_INDEX(REPLACE(REPLACE(top('cpu:1', NULL, 1), ' \\n', "
     "' '), '\\n', '; '), '; Total:', 1)",
     {FACT_CPU_HEAD},
     1,
     FACT_CPU_ERROR},
    {"SELECT COUNT(*), SUM(why <> ''), MAX(why) FROM threads",
     {FACT_THREADS, FACT_THREADS_BLIND, FACT_THREADS_WHY},
     3,
     FACT_THREADS_ERROR},
    {"SELECT COUNT(*), SUM(function LIKE '%+0x%'), (SELECT module FROM "
     "heap_functions WHERE function LIKE '%+0x%' GROUP BY 1 ORDER BY COUNT(*) "
     "DESC LIMIT 1) FROM heap_functions",
     {FACT_FUNCTIONS, FACT_NAMELESS, FACT_NAMELESS_MODULE},
     3,
     FACTS},
};

/* Waits until the statement that runs is done. */
static void
wait_for_answer(struct asker *asker)
{
    struct pollfd fd;

    while (asker_asks(asker)) {
        fd = (struct pollfd){asker_fd(asker), asker_events(asker), 0};
        if (poll(&fd, 1, asker_wait_ms(asker)) < 0)
            fd.revents = 0;
        asker_step(asker, fd.revents);
    }
}

static void
compare_clocks(struct facts *facts, struct asker *asker)
{
    int64_t before = clock_wall_ms(), middle;
    char text[32];
    MYSQL_RES *rows;
    MYSQL_ROW row;

    asker_ask(asker, "SELECT UNIX_TIMESTAMP(NOW(3)) * 1000");
    wait_for_answer(asker);
    /* The node read its clock somewhere between asking and the answer: the
     * middle is off by half of that at most. */
    middle = before + (clock_wall_ms() - before) / 2;
    rows = asker_take_rows(asker);
    row = rows ? mysql_fetch_row(rows) : NULL;
    if (row && row[0]) {
        snprintf(text, sizeof(text), "%.0f",
                 strtod(row[0], NULL) - (double)middle);
        facts_set(facts, FACT_CLOCK_OFF_MS, text);
    }
    mysql_free_result(rows);
}

void
facts_ask_node(struct facts *facts, const char *const *given)
{
    struct asker *asker = asker_new(given);
    const char *error = "no memory";
    unsigned number = 0;

    if (!asker)
        facts_set(facts, FACT_NODE_ERROR, error);
    for (size_t i = 0; asker && i < sizeof(questions) / sizeof(questions[0]) &&
                       !facts_get(facts, FACT_NODE_ERROR);
         i++) {
        MYSQL_RES *rows;
        MYSQL_ROW row;

        asker_ask(asker, questions[i].sql);
        wait_for_answer(asker);
        rows = asker_take_rows(asker);
        error = asker_error(asker, &number);
        row = rows ? mysql_fetch_row(rows) : NULL;
        for (unsigned k = 0;
             row && k < questions[i].count && k < mysql_num_fields(rows); k++)
            facts_set(facts, questions[i].facts[k], row[k]);
        if (*error && questions[i].error != FACTS)
            facts_set(facts, questions[i].error, error);
        mysql_free_result(rows);
    }
    if (asker && !facts_get(facts, FACT_NODE_ERROR))
        compare_clocks(facts, asker);
    asker_free(asker);
}
