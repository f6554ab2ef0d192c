/*
 * select_bench.c - what sql/ takes of one small SELECT, in nanoseconds of CPU.
 *
 * Opens, steps to the end and frees, as server/ does on its loop.
 * select_bench [rounds [place of the only text]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cursor.h"
#include "errors.h"
#include "loopback_peers.h"
#include "scripted_controller.h"
#include "sql.h"

static const struct {
    const char *text;
    size_t parameters;
} texts[] = {
    {"SELECT 1", 0},
    {"SELECT @@version", 0},
    {"SELECT ?", 1},
    {"SELECT @@max_allowed_packet, NOW(), CONCAT('a', 'b')", 0},
    {"SELECT id, address FROM heapwire.nodes WHERE id = ?", 1},
    {"SELECT t.TABLE_SCHEMA AS s, CASE WHEN t.TABLE_TYPE = 'BASE TABLE' THEN "
     "'TABLE' WHEN t.TABLE_TYPE IN ('VIEW', 'SYSTEM VIEW') THEN 'VIEW' ELSE "
     "CONCAT(t.TABLE_TYPE, '?') END AS k, t.TABLE_ROWS * 2 + 1 n, (SELECT "
     "COUNT(*) FROM information_schema.columns c WHERE c.TABLE_NAME = "
     "t.TABLE_NAME) m FROM information_schema.tables t LEFT JOIN "
     "heapwire.nodes h ON h.id = t.VERSION WHERE t.TABLE_SCHEMA LIKE 'heap%' "
     "AND (t.TABLE_NAME <> 'x' OR t.ENGINE IS NULL) AND 1 = 0 GROUP BY "
     "t.TABLE_SCHEMA, k HAVING m > 1 ORDER BY k DESC, n LIMIT 0, 10",
     0},
    {"SET autocommit = 1", 0},
    {"SHOW VARIABLES LIKE 'sql_mode'", 0},
};

static double
cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
run(struct sql_session *session, const char *text, size_t parameters)
{
    static struct value values[CURSOR_COLUMNS_MAX * CURSOR_BATCH];
    static const struct value value = {VALUE_INT, NULL, 0, 42, 0};
    struct sql_parameters given = {&value, parameters};
    struct error error = {0};
    struct span span = {text, strlen(text)};
    struct cursor *cursor =
        sql_open(session, span, parameters ? &given : NULL, NULL, &error);
    struct rows rows = {values, 0, CURSOR_BATCH};
    enum step step = STEP_MORE;

    while (cursor && step == STEP_MORE)
        step = cursor->ops->step(cursor, &rows, &error);
    if (!cursor || step != STEP_DONE) {
        fprintf(stderr, "%s: %s\n", text, error.text);
        exit(1);
    }
    cursor_free(cursor);
}

static void
stream(struct sql_session *session)
{
    char set[1100];
    double start;

    snprintf(set, sizeof(set), "SET @x = '%01024d'", 0);
    run(session, set, 0);
    start = cpu_ns();
    run(session,
        "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE "
        "n < 1000000) SELECT @x FROM s",
        0);
    printf("%8.0f ns  a row of 1 KB, of a million\n",
           (cpu_ns() - start) / 1000000);
}

int
main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100000;
    static struct sql_node node = {.id = 10001};
    struct sql_identity who = {.user = "admin", .privileges = PRIVILEGE_ALL};
    struct sql_peers alone = loopback_peers(&node);
    struct sql_session *session;

    sql_start();
    node.controller = scripted_reset();
    node.peers = &alone;
    session = sql_session_new(&node, &who, 7);
    if (!session)
        return 1;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double start;

        if (argc > 2 && i != strtoul(argv[2], NULL, 10))
            continue;
        run(session, texts[i].text, texts[i].parameters);
        start = cpu_ns();
        for (int n = 0; n < rounds; n++)
            run(session, texts[i].text, texts[i].parameters);
        printf("%8.0f ns  %s\n", (cpu_ns() - start) / rounds, texts[i].text);
    }
    if (argc <= 2)
        stream(session);
    sql_session_free(session);
    return 0;
}
