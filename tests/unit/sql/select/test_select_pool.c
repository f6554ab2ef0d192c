/* test_select_pool.c - handles and statements that sessions share. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "handle.h"
#include "handle_pool.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct harness h;

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
}

static void
tear_down(void)
{
    harness_fini(&h);
}

static struct sql_session *
session_of(const char *user, uint32_t privileges)
{
    struct sql_identity who = {.host = "localhost",
                               .privileges = privileges,
                               .trusted = strcmp(user, "root") == 0};
    struct sql_session *session;

    snprintf(who.user, sizeof(who.user), "%s", user);
    session = sql_session_new(&h.node, &who, 8);
    ck_assert_ptr_nonnull(session);
    return session;
}

/* Opens as many as it may; returns their number. */
static size_t
open_all(struct sql_session *session, struct cursor **open)
{
    struct span text = {"select 1", 8};
    size_t count = 0;

    while ((open[count] = sql_open(session, text, NULL, NULL, &h.error)))
        count++;
    return count;
}

/* Nobody can take them all, and all cannot take more than there are; but root
 * by the unix socket finds some whatever the others hold. */
START_TEST(handles_are_pooled_with_a_ceiling)
{
    static const struct {
        const char *user;
        size_t handles;
        unsigned code;
    } users[] = {{"greedy", 64, ER_USER_LIMIT_REACHED},
                 {"other", 32, ER_USER_LIMIT_REACHED},
                 {"third", 16, ER_USER_LIMIT_REACHED},
                 {"4th", 8, ER_USER_LIMIT_REACHED},
                 {"5th", 4, ER_USER_LIMIT_REACHED},
                 {"6th", 2, ER_USER_LIMIT_REACHED},
                 {"7th", 1, ER_USER_LIMIT_REACHED},
                 {"8th", 1, ER_USER_LIMIT_REACHED},
                 {"9th", 0, ER_OUT_OF_RESOURCES},
                 {"root", HANDLES_SPARE / 2, ER_USER_LIMIT_REACHED}};
    struct sql_session *sessions[COUNT(users)];
    struct cursor *open[HANDLES_MAX + HANDLES_SPARE + 1], *again[2];
    struct pull *read[HANDLES_MAX];
    struct span text = {"select 1", 8};
    size_t count = 0, got;

    for (size_t i = 0; i < COUNT(users); i++) {
        sessions[i] = session_of(users[i].user, 0);
        got = open_all(sessions[i], open + count);
        ck_assert_uint_eq(got, users[i].handles);
        ck_assert_uint_eq(h.error.code, users[i].code);
        count += got;
    }
    cursor_free(open[0]);
    ck_assert_uint_eq(open_all(sessions[COUNT(users) - 2], again), 1);
    open[0] = again[0];
    while (count-- > 0)
        cursor_free(open[count]);
    for (size_t i = 0; i < COUNT(users); i++)
        sql_session_free(sessions[i]);
    /* one that was read to its end holds none */
    for (size_t i = 0; i < HANDLES_MAX; i++) {
        harness_open_span(&h, text);
        harness_finish(&h);
        read[i] = harness_leave(&h);
    }
    ck_assert_str_eq(harness_run(&h, "select 2"), "2\n#2");
    for (size_t i = 0; i < HANDLES_MAX; i++)
        harness_give_up(read[i]);
}
END_TEST

/* ---- statements that are kept ---- */

/* The very text that an admin has just run, on the handle that kept it. */
START_TEST(a_kept_statement_opens_no_table_to_others)
{
    static const char nodes[] = "select id from heapwire.nodes";
    static const char sessions[] = "select id from heapwire.sessions";
    struct sql_session *mine = h.session;

    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(harness_run(&h, nodes), "id\n#10001");
        ck_assert_str_eq(harness_run(&h, sessions), "id\n#7\n#8");
        ck_assert_str_eq(harness_run(&h, "select user()"),
                         "user()\nadmin@localhost");
        h.session = session_of("guest", PRIVILEGE_PROFILE);
        harness_run(&h, nodes);
        ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
        ck_assert_str_eq(harness_run(&h, sessions), "id");
        ck_assert_str_eq(harness_run(&h, "select user()"),
                         "user()\nguest@localhost");
        sql_session_free(h.session);
        h.session = mine;
    }
}
END_TEST

/* A statement of another's is run with what this one may read: nothing. */
START_TEST(a_kept_statement_reads_what_this_one_may)
{
    struct catalog_scope scope = {.session = h.session};
    static const char sql[] = "SELECT id FROM \"heapwire\".\"nodes\"";
    struct span name = {"nodes", 5};
    const struct catalog_table *nodes =
        catalog_table("heapwire", name, &h.error);
    struct handle *handle;
    sqlite3_stmt *first, *statement;

    for (int i = 0; i < 2; i++) {
        handle = handle_acquire(&scope, NULL, &h.error);
        ck_assert_ptr_nonnull(handle);
        if (i == 0)
            table_set_add(&handle->readable, catalog_index(nodes));
        ck_assert_int_eq(select_vtab_create(handle), 0);
        ck_assert_int_eq(
            handle_prepare(handle, sql, sizeof(sql) - 1, &statement),
            SQLITE_OK);
        if (i == 0)
            first = statement;
        else
            ck_assert_ptr_eq(statement, first);
        ck_assert_int_eq(sqlite3_step(statement) & 0xff,
                         i == 0 ? SQLITE_ROW : SQLITE_AUTH);
        handle_release(handle, statement);
    }
}
END_TEST

START_TEST(kept_statements_have_their_own_values)
{
    static const struct value given[] = {{VALUE_INT, NULL, 0, 7, 0},
                                         {VALUE_TEXT, "x", 1, 0, 0}};
    char text[64];

    h.parameter_count = 1;
    for (int i = 0; i < 4; i++) {
        h.parameters = &given[i % 2];
        ck_assert_str_eq(harness_run(&h, "select ?"), i % 2 ? "?\nx" : "?\n#7");
    }
    h.parameters = NULL;
    for (int i = 0; i < 3 * STATEMENTS_KEPT; i++) {
        snprintf(text, sizeof(text), "select %d as n", i % 50);
        harness_run(&h, text);
        snprintf(text, sizeof(text), "n\n#%d", i % 50);
        ck_assert_str_eq(h.answer.data, text);
    }
    /* one that failed is as good as new */
    harness_run(&h, "set @x = 1e300");
    harness_run(&h, "select floor(@x * 1e20 / 1e20) as n");
    ck_assert_uint_eq(h.error.code, ER_DATA_OUT_OF_RANGE);
    harness_run(&h, "set @x = 1.5");
    ck_assert_str_eq(harness_run(&h, "select floor(@x * 1e20 / 1e20) as n"),
                     "n\n~1");
}
END_TEST

/* In a statement that was kept for others; the name is no secret. */
START_TEST(assigning_by_the_functions_name_is_harmless)
{
    for (int i = 0; i < 3; i++) {
        harness_fini(&h);
        harness_init(&h, PRIVILEGE_ALL);
        harness_run(&h, "select hw_assign('a', 8) x");
        ck_assert(h.error.code == 0 || h.error.code == ER_FUNCTION_UNKNOWN);
    }
}
END_TEST

/* Sessions on many threads share the pool. */
static void *
select_much(void *arg)
{
    struct harness *mine = arg;

    for (int i = 0; i < 200; i++)
        harness_run(mine, "select count(*) from information_schema.columns c "
                          "join heapwire.nodes n");
    return NULL;
}

START_TEST(threads_share_the_pool)
{
    static struct harness each[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        harness_init(&each[i], PRIVILEGE_ALL);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, select_much, &each[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(each[i].error.code, 0);
        harness_fini(&each[i]);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select_pool");
    TCase *tc = tcase_create("select_pool");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, handles_are_pooled_with_a_ceiling);
    tcase_add_test(tc, a_kept_statement_opens_no_table_to_others);
    tcase_add_test(tc, a_kept_statement_reads_what_this_one_may);
    tcase_add_test(tc, kept_statements_have_their_own_values);
    tcase_add_test(tc, assigning_by_the_functions_name_is_harmless);
    tcase_add_test(tc, threads_share_the_pool);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
