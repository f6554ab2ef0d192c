/* test_tables_threads.c - the rows of heapwire.threads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog_tables.h"
#include "errors.h"
#include "names.h"
#include "observe.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "suite.h"
#include "threads.h"

enum {
    TID,
    PID,
    NAME,
    PROCESS,
    STATE,
    WCHAN,
    USER,
    SYSTEM,
    WAITS_FOR,
    OWNER,
    DEADLOCK,
    STACK,
    FOLDED,
    SAME,
    WHY,
    PAUSE,
    KERNEL,
    COLUMNS
};

static const uint64_t busy[] = {0x1000, 0x2000};
static struct thread_entry entries[] = {{.tid = 41,
                                         .pid = 41,
                                         .name = "main",
                                         .state = 'S',
                                         .wchan = "do_poll",
                                         .why = "no",
                                         .user_ms = 70,
                                         .system_ms = 8},
                                        {.tid = 42,
                                         .name = "w",
                                         .state = 'R',
                                         .wchan = "",
                                         .why = "",
                                         .addresses = busy,
                                         .depth = 2,
                                         .pause_us = 9},
                                        {.tid = 43,
                                         .pid = 42,
                                         .process = "db: writes",
                                         .name = "w",
                                         .state = 'S',
                                         .wchan = "futex_wait",
                                         .kernel = "do_futex;futex_wait",
                                         .why = "",
                                         .addresses = busy,
                                         .depth = 2,
                                         .futex = 0xabc0,
                                         .owner = 42,
                                         .deadlock = 1}};
static struct thread_list list = {
    .list = entries, .count = 3, .pid = 41, .references = 1};

static struct sql_node node;
static struct sql_session *session;
static int32_t process;
static struct catalog_scope scope;
static struct rowset rows;
static struct error err;

int32_t
controller_observe_pid(struct controller *controller, struct error *why)
{
    ck_assert_ptr_eq(controller, (void *)&node);
    if (process == 0)
        error_set(why, ER_UNKNOWN, "there is none");
    return process;
}

static void
set_up(void)
{
    static const struct sql_identity who = {.user = "admin",
                                            .privileges = PRIVILEGE_ALL};

    node.controller = (struct controller *)&node;
    session = sql_session_new(&node, &who, 7);
    ck_assert_ptr_nonnull(session);
    scope.session = session;
    rowset_init(&rows, COLUMNS);
}

static void
tear_down(void)
{
    rowset_fini(&rows);
    sql_session_free(session);
}

static const char *
text_at(size_t row, size_t column)
{
    const struct value *value = &rowset_row(&rows, row)[column];

    return value->type == VALUE_TEXT ? value->data : "(none)";
}

static int64_t
number_at(size_t row, size_t column)
{
    const struct value *value = &rowset_row(&rows, row)[column];

    return value->type == VALUE_INT ? value->integer : -1;
}

START_TEST(a_row_is_a_thread_and_equal_stacks_are_kept_once)
{
    ck_assert_uint_eq(tables_threads[0].column_count, COLUMNS);
    scope.threads = &list;
    tables_threads[0].produce(&scope, &rows);
    ck_assert_int_eq(rowset_done(&rows, &err), 0);
    ck_assert_uint_eq(rowset_rows(&rows), 3);
    ck_assert_int_eq(number_at(0, TID), 41);
    ck_assert_str_eq(text_at(0, NAME), "main");
    ck_assert_int_eq(number_at(0, PID), 41);
    ck_assert_str_eq(text_at(0, PROCESS), "(none)");
    ck_assert_int_eq(number_at(2, PID), 42);
    ck_assert_str_eq(text_at(2, PROCESS), "db: writes");
    ck_assert_str_eq(text_at(0, STATE), "S");
    ck_assert_str_eq(text_at(0, WCHAN), "do_poll");
    ck_assert_str_eq(text_at(0, KERNEL), "(none)");
    ck_assert_str_eq(text_at(2, KERNEL), "do_futex;futex_wait");
    ck_assert_int_eq(number_at(0, USER), 70);
    ck_assert_int_eq(number_at(0, SYSTEM), 8);
    ck_assert_str_eq(text_at(0, WAITS_FOR), "(none)");
    ck_assert_int_eq(number_at(0, OWNER), -1);
    ck_assert_int_eq(number_at(0, DEADLOCK), -1);
    ck_assert_str_eq(text_at(0, STACK), "(none)");
    ck_assert_str_eq(text_at(0, FOLDED), "(none)");
    ck_assert_int_eq(number_at(0, SAME), 1);
    ck_assert_str_eq(text_at(0, WHY), "no");
    ck_assert_int_eq(number_at(0, PAUSE), -1);
    for (size_t i = 1; i < 3; i++) {
        ck_assert_str_eq(text_at(i, STACK), "#0  0x0000000000001000 ??\n"
                                            "#1  0x0000000000002000 ??\n");
        ck_assert_str_eq(text_at(i, FOLDED), "0x2000;0x1000");
        ck_assert_int_eq(number_at(i, SAME), 2);
        ck_assert_str_eq(text_at(i, WHY), "");
    }
    ck_assert_ptr_eq(text_at(1, STACK), text_at(2, STACK));
    ck_assert_str_eq(text_at(2, WAITS_FOR), "0xabc0");
    ck_assert_int_eq(number_at(2, OWNER), 42);
    ck_assert_int_eq(number_at(2, DEADLOCK), 1);
    ck_assert_int_eq(number_at(1, PAUSE), 9);
    ck_assert_int_eq(number_at(2, PAUSE), 0);
}
END_TEST

/* Each of its own, but that the last one has the first one's. */
START_TEST(too_many_stacks_leave_some_out)
{
    enum { DEPTH = THREAD_DEPTH_MAX };
    struct thread_entry *many = calloc(THREADS_MAX, sizeof(*many));
    uint64_t *addresses = calloc(THREADS_MAX + DEPTH, sizeof(*addresses));
    struct thread_list all = {
        .list = many, .count = THREADS_MAX, .pid = 41, .references = 1};

    ck_assert(many != NULL && addresses != NULL);
    for (size_t i = 0; i < THREADS_MAX + DEPTH; i++)
        addresses[i] = 0x7f0000000000 + i;
    for (size_t i = 0; i < THREADS_MAX; i++)
        many[i] = (struct thread_entry){
            .tid = (int32_t)i + 41,
            .name = "connection",
            .state = 'S',
            .wchan = "futex_wait_queue",
            .why = "",
            .addresses = addresses + (i + 1 < THREADS_MAX ? i : 0),
            .depth = DEPTH};
    scope.threads = &all;
    tables_threads[0].produce(&scope, &rows);
    scope.threads = NULL;
    ck_assert_msg(rowset_done(&rows, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(rowset_rows(&rows), THREADS_MAX);
    for (size_t i = 0; i < THREADS_MAX; i++) {
        bool there = i < 100 || i + 1 == THREADS_MAX;

        if (i >= 100 && i < 1000)
            continue; /* it ends somewhere here */
        ck_assert(there == (strcmp(text_at(i, STACK), "(none)") != 0));
        ck_assert(there == (strcmp(text_at(i, FOLDED), "(none)") != 0));
        ck_assert_str_eq(text_at(i, WHY), there ? "" : "too many stacks");
    }
    free(addresses);
    free(many);
}
END_TEST

START_TEST(without_stacks_proc_is_read)
{
    process = getpid();
    tables_threads[0].produce(&scope, &rows);
    ck_assert_int_eq(rowset_done(&rows, &err), 0);
    ck_assert_uint_eq(rowset_rows(&rows), 1);
    ck_assert_int_eq(number_at(0, TID), getpid());
    ck_assert_str_eq(text_at(0, NAME), "test_tables_thr");
    ck_assert_str_eq(text_at(0, STATE), "R");
    for (size_t i = STACK; i < COLUMNS; i++)
        ck_assert_int_eq(rowset_row(&rows, 0)[i].type, VALUE_NULL);
}
END_TEST

START_TEST(columns_of_stacks_alone_need_them)
{
    for (size_t i = 0; i < COLUMNS; i++)
        ck_assert_uint_eq(tables_threads[0].columns[i].needs,
                          i >= STACK ? NEED_THREADS : 0);
}
END_TEST

START_TEST(without_a_database_an_error_says_so)
{
    tables_threads[0].produce(&scope, &rows);
    ck_assert_int_eq(rowset_done(&rows, &err), -1);
    ck_assert_msg(strcmp(err.text, "there is none") == 0, "%s", err.text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("tables_threads");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_row_is_a_thread_and_equal_stacks_are_kept_once);
    tcase_add_test(tcase, too_many_stacks_leave_some_out);
    tcase_add_test(tcase, without_stacks_proc_is_read);
    tcase_add_test(tcase, columns_of_stacks_alone_need_them);
    tcase_add_test(tcase, without_a_database_an_error_says_so);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
