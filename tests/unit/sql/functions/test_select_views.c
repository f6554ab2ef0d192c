/* test_select_views.c - views as functions of SELECT. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "profile_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "sql_harness.h"
#include "store.h"
#include "suite.h"
#include "view.h"
#include "view_cache.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;
static unsigned scale; /* of a profile's bytes */

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "alpha()", false, NULL, 0},
                                            {0x3001, "beta()", false, NULL, 0},
                                            {0x5001, "main", false, NULL, 0},
                                            {0}};

static struct profile *
make_profile(void)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "heap_v2/1\n"
             "@ 0x1000 0x2001 0x5001\nt*: 1: %u [0: 0]\n"
             "@ 0x1000 0x3001 0x5001\nt*: 1: 3000000 [0: 0]\n",
             scale * 1000000);
    return fixture_profile(text, names, NULL);
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = make_profile;
    scale = 1;
    scripted_keep("a");
    scale = 6;
    scripted_keep("b");
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

#define TOP_A                                                                  \
    "The profile was cut off\nTotal: 3.8 MB\n"                                 \
    "     2.9  75.0%  75.0%      2.9  75.0% beta\n"                            \
    "     1.0  25.0% 100.0%      1.0  25.0% alpha\n"                           \
    "     0.0   0.0% 100.0%      3.8 100.0% main"

START_TEST(a_view_is_a_value)
{
    ck_assert_str_eq(harness_run(&h, "select top('a') t"), "t\n" TOP_A);
    ck_assert_str_eq(harness_run(&h, "select Top('A', null) t"), "t\n" TOP_A);
    ck_assert_str_eq(harness_run(&h, "select collapsed('a') c"),
                     "c\nmain;beta() 3000000\nmain;alpha() 1000000");
}
END_TEST

START_TEST(every_form_is_a_function)
{
    char text[64];

    for (size_t i = 0; i < view_form_count; i++) {
        if (view_forms[i].by_graphviz)
            continue;
        snprintf(text, sizeof(text), "select length(%s('a')) > 15 x",
                 view_forms[i].name);
        ck_assert_msg(strcmp(harness_run(&h, text), "x\n#1") == 0, "%s: %s",
                      text, h.answer.data);
    }
    ck_assert_str_eq(harness_run(&h, "select left(export('a'), 6) x"),
                     "x\nHWSNAP");
}
END_TEST

START_TEST(columns_have_the_forms_type)
{
    harness_open(&h, "select dot('a'), pprof('a'), export('a'), raw('a')");
    ck_assert_int_eq(h.cursor->columns[0].type, COLUMN_LONGTEXT);
    ck_assert_int_eq(h.cursor->columns[1].type, COLUMN_BLOB);
    ck_assert_uint_eq(h.cursor->columns[1].width, VIEW_BYTES_MAX);
    ck_assert_int_eq(h.cursor->columns[2].type, COLUMN_BLOB);
    ck_assert_int_eq(h.cursor->columns[3].type, COLUMN_LONGTEXT);
    ck_assert_str_eq(h.cursor->columns[0].name, "dot('a')");
}
END_TEST

/* Above what SELECT's other values may have, and through the next step. */
START_TEST(a_view_may_be_large)
{
    struct buffer text;
    struct error err;
    struct snapshot *snapshot;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "heap_v2/524288\n  t*: 1: 1 [0: 0]\n");
    for (unsigned i = 0; i < 20000; i++)
        buffer_format(&text, "@ 0x%x 0x%x\n  t*: 1: 1 [0: 0]\n", i + 1, i + 9);
    ck_assert(!text.failed);
    snapshot = snapshot_import(text.data, text.size, &err);
    ck_assert_msg(snapshot != NULL, "%s", err.text);
    snprintf(snapshot->name, sizeof(snapshot->name), "large");
    ck_assert_int_eq(store_add(scripted.store, snapshot, &err), 0);
    snapshot_unref(snapshot);
    ck_assert_str_eq(harness_run(&h, "select length(raw('large')) > 262144 x"),
                     "x\n#1");
    harness_run(&h, "select raw('large') x");
    ck_assert_uint_gt(h.answer.size, 262144);
    ck_assert_str_eq(harness_run(&h, "select length(sha2(raw('large'), 256)) "
                                     "x, raw('large') = raw('LARGE') y"),
                     "x|y\n#64|#1");
    harness_run(&h, "select raw('large') regexp 'a+b'");
    ck_assert_uint_eq(h.error.code, ER_WRONG_ARGUMENTS);
    /* the next statement's are bounded again */
    harness_run(&h, "select length(repeat('x', 300000)) x");
    ck_assert_uint_ne(h.error.code, 0);
    buffer_fini(&text);
}
END_TEST

static const struct {
    const char *call, *error;
} wrong[] = {
    {"dot('nope')", "1032/HY000 no snapshot named 'nope' is kept; SELECT name "
                    "FROM heapwire.snapshots lists those that are"},
    {"dot('a', 'nope')", "1032/HY000 no snapshot named 'nope' is kept; SELECT "
                         "name FROM heapwire.snapshots lists those that are"},
    {"dot('../a')",
     "1210/HY000 '../a' is not a snapshot's name (1 to 64 of a-z, 0-9, _); "
     "SELECT name FROM heapwire.snapshots lists those that are kept"},
    {"dot('')",
     "1210/HY000 '' is not a snapshot's name (1 to 64 of a-z, 0-9, _); SELECT "
     "name FROM heapwire.snapshots lists those that are kept"},
    {"dot('a', 'now')", "1210/HY000 a base is a kept snapshot, and not 'now'"},
    {"export('a', 'b')",
     "1210/HY000 export gives one snapshot: leave the base out"},
    {"dot('a', null, 'by=blood')",
     "1210/HY000 by takes one of inuse_space, inuse_objects, alloc_space, "
     "alloc_objects, time, samples, waste, not 'blood'"},
    {"dot('a', null, 'granularity')",
     "1210/HY000 granularity takes one of functions, lines, files, addresses, "
     "not ''"},
    {"dot('a', null, 'nodecount=0')",
     "1210/HY000 nodecount takes a whole number from 1 to 1000000"},
    {"dot('a', null, 'nodecount=x')",
     "1210/HY000 nodecount takes a whole number from 1 to 1000000"},
    {"dot('a', null, 'nodefraction=2')",
     "1210/HY000 nodefraction takes a number from 0 to 1"},
    {"dot('a', null, 'force=maybe')",
     "1210/HY000 force takes one of true, false, not 'maybe'"},
    {"dot('a', null, 'focus=')", "1210/HY000 focus takes a regular expression"},
    {"raw('a', null, 'focus=x')",
     "1210/HY000 raw shows all there is: it takes no option but force"},
    {"top('a', null, 'seconds=1')",
     "1210/HY000 seconds shows what grows from now on: the name is 'now', and "
     "there is no base"},
    {"top('now', 'a', 'seconds=1')",
     "1210/HY000 seconds shows what grows from now on: the name is 'now', and "
     "there is no base"},
    {"top('now', null, 'seconds=3601')",
     "1210/HY000 seconds takes a whole number from 1 to 3600"},
    {"address_names('a', null, 'seconds=1')",
     "1210/HY000 address_names shows all there is: it takes no option but "
     "force"},
    {"top('a', null, 0)",
     "1210/HY000 top takes a whole number from 1 to 1000000"},
    {"dot('a', 'b', 'x', 'y')", "1582/42000 Incorrect parameter count in the "
                                "call to native function 'dot'"},
    {"dot()", "1582/42000 Incorrect parameter count in the call to native "
              "function 'dot'"},
};

START_TEST(what_is_wrong_is_said)
{
    char text[128];

    snprintf(text, sizeof(text), "select %s", wrong[_i].call);
    ck_assert_str_eq(harness_run(&h, text), wrong[_i].error);
}
END_TEST

START_TEST(errors_of_rendering_stay_as_they_are)
{
    harness_run(&h, "select dot('a', null, 'focus=(')");
    ck_assert_uint_eq(h.error.code, ER_REGEX);
    harness_run(&h, "select dot('a', null, 'bananas=1')");
    ck_assert_uint_eq(h.error.code, ER_WRONG_ARGUMENTS);
    harness_run(&h, "select coalesce(dot('nope'), 'x')");
    ck_assert_str_eq(h.error.text,
                     "no snapshot named 'nope' is kept; SELECT name FROM "
                     "heapwire.snapshots lists those that are");
}
END_TEST

START_TEST(options_choose_what_is_shown)
{
    ck_assert_str_eq(
        harness_run(&h, "select collapsed('a', null, ' focus = alpha ') c"),
        "c\nmain;alpha() 1000000");
    ck_assert_str_eq(harness_run(&h, "select collapsed('a', null, 'focus=alpha;"
                                     "by=inuse_objects;') c"),
                     "c\nmain;alpha() 1");
    ck_assert_str_eq(
        harness_run(&h, "select collapsed('b', 'a', 'ignore=beta; force') c"),
        "c\nmain;alpha() 5000000");
    ck_assert_str_eq(harness_run(&h,
                                 "select top('a', null, 1) = top('a', null, "
                                 "'nodecount=1') x, length(top('a')) > "
                                 "length(top('a', null, 1)) y"),
                     "x|y\n#1|#1");
}
END_TEST

START_TEST(views_over_rows)
{
    ck_assert_str_eq(harness_run(&h, "select name, collapsed(name) c from "
                                     "heapwire.snapshots"),
                     "name|c\na|main;beta() 3000000\nmain;alpha() 1000000\n"
                     "b|main;alpha() 6000000\nmain;beta() 3000000");
    ck_assert_str_eq(harness_run(&h, "select name from heapwire.snapshots "
                                     "where collapsed(name) like "
                                     "'main;alpha()%'"),
                     "name\nb");
    ck_assert_str_eq(harness_run(&h,
                                 "select count(distinct collapsed(name)) n, "
                                 "max(length(dot(name))) > 0 m from "
                                 "heapwire.snapshots"),
                     "n|m\n#2|#1");
}
END_TEST

START_TEST(of_null_is_null)
{
    ck_assert_str_eq(harness_run(&h, "select dot(null) d"), "d\n\\N");
    ck_assert_str_eq(harness_run(&h, "select dot((select name from "
                                     "heapwire.snapshots limit 0)) d"),
                     "d\n\\N");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(now_is_the_statements_fresh_snapshot)
{
    scale = 2;
    ck_assert_str_eq(
        harness_run(&h, "select collapsed('now') a, collapsed('NOW', 'b', "
                        "'force') b, (select sum(bytes) from "
                        "heapwire.heap_stacks) c"),
        "a|b|c\nmain;beta() 3000000\nmain;alpha() 2000000|main;alpha() "
        "-4000000|"
        "5000000");
    ck_assert_uint_eq(scripted.submitted, 1);
    scripted.answer = ANSWER_WAIT;
    buffer_clear(&h.answer);
    harness_open(&h, "select collapsed('now')");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    scripted_finish(true);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data,
                     "\nmain;beta() 3000000\nmain;alpha() 2000000");
}
END_TEST

START_TEST(names_may_be_parameters)
{
    static const char text[] = "select collapsed(?, ?, ?)";
    struct value given[] = {
        {.type = VALUE_TEXT, .data = "b", .size = 1},
        {.type = VALUE_TEXT, .data = "a", .size = 1},
        {.type = VALUE_TEXT, .data = "force", .size = 5},
    };
    struct span span = {text, sizeof(text) - 1};
    struct sql_description told;

    ck_assert_int_eq(sql_describe(h.session, span, NULL, &told, &h.error), 0);
    ck_assert_uint_eq(told.parameter_count, 3);
    ck_assert_int_eq(told.columns[0].type, COLUMN_LONGTEXT);
    sql_description_fini(&told);
    buffer_clear(&h.answer);
    h.parameters = given;
    h.parameter_count = COUNT(given);
    ck_assert_msg(harness_open(&h, text) != NULL, "%s", h.error.text);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\nmain;alpha() 5000000");
}
END_TEST

START_TEST(one_needs_the_privilege)
{
    static const char denied[] =
        "1227/42000 Access denied; you need (at least one of) the PROFILE "
        "privilege(s) for this operation";

    harness_run(&h, "select dot('a')"); /* a plan that others find */
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_STATUS | PRIVILEGE_CONTROL);
    scripted.profile = make_profile;
    scripted_keep("a");
    ck_assert_str_eq(harness_run(&h, "select dot('a')"), denied);
    ck_assert_str_eq(harness_run(&h, "select export(name) from "
                                     "heapwire.snapshots"),
                     denied);
}
END_TEST

START_TEST(it_is_for_select_alone)
{
    ck_assert_str_eq(harness_run(&h, "set @x = dot('a')"),
                     "1235/42000 only a SELECT can read what waits for the "
                     "node or for a view");
    ck_assert_str_eq(harness_run(&h, "do dot('a')"), "OK");
    ck_assert_str_eq(harness_run(&h, "select length(dot('a')) > 9 into @x"),
                     "OK");
    ck_assert_str_eq(harness_run(&h, "select @x"), "@x\n#1");
}
END_TEST

/* ---- on threads, as in heapwired ---- */

static void
use_threads(void)
{
    view_cache_stop(h.node.views);
    h.node.views = view_cache_start(scripted.store, VIEW_THREADS, &h.error);
    ck_assert_ptr_nonnull(h.node.views);
}

START_TEST(rows_that_wait_are_given_once)
{
    struct view_counts counts;

    use_threads();
    harness_open(&h, "select name, collapsed(name), length(dot(name)) > 9, "
                     "length(pprof(name, 'a', 'force')) > 9 from "
                     "heapwire.snapshots");
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data,
                     "\na|main;beta() 3000000\nmain;alpha() 1000000|#1|#1"
                     "\nb|main;alpha() 6000000\nmain;beta() 3000000|#1|#1");
    view_cache_count(h.node.views, &counts);
    ck_assert_uint_eq(counts.rendered, 6);
}
END_TEST

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;
} rendering = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void
hold(void)
{
    pthread_mutex_lock(&rendering.lock);
    while (rendering.held)
        pthread_cond_wait(&rendering.changed, &rendering.lock);
    pthread_mutex_unlock(&rendering.lock);
}

static void
set_held(bool held)
{
    pthread_mutex_lock(&rendering.lock);
    rendering.held = held;
    pthread_cond_broadcast(&rendering.changed);
    pthread_mutex_unlock(&rendering.lock);
}

START_TEST(waiting_for_a_view_can_be_cancelled)
{
    scripted.on_render = hold;
    set_held(true); /* or it might be there before it is cancelled */
    use_threads();
    harness_open(&h, "select dot('a')");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    harness_open(&h, "select dot('b')");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_close(&h); /* the client is gone */
    harness_open(&h, "select length(dot('a')) > 9 x");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    set_held(false);
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\n#1");
}
END_TEST

START_TEST(what_assigns_waits_for_a_view_and_assigns_once)
{
    use_threads();
    harness_run(&h, "set @n = 0");
    ck_assert_str_eq(harness_run(&h,
                                 "select @n := @n + 1, length(dot('a', null, "
                                 "'nodecount=7')) > 9, get_lock('l', 0)"),
                     "@n := @n + 1|length(dot('a', null, 'nodecount=7')) > 9|"
                     "get_lock('l', 0)\n#1|#1|#1");
    ck_assert_str_eq(harness_run(&h, "select @n"), "@n\n#1");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("select_views");
    TCase *t = tcase_create("views");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_view_is_a_value);
    tcase_add_test(t, every_form_is_a_function);
    tcase_add_test(t, columns_have_the_forms_type);
    tcase_add_test(t, a_view_may_be_large);
    tcase_add_loop_test(t, what_is_wrong_is_said, 0, COUNT(wrong));
    tcase_add_test(t, errors_of_rendering_stay_as_they_are);
    tcase_add_test(t, options_choose_what_is_shown);
    tcase_add_test(t, views_over_rows);
    tcase_add_test(t, of_null_is_null);
    tcase_add_test(t, now_is_the_statements_fresh_snapshot);
    tcase_add_test(t, names_may_be_parameters);
    tcase_add_test(t, one_needs_the_privilege);
    tcase_add_test(t, it_is_for_select_alone);
    tcase_add_test(t, rows_that_wait_are_given_once);
    tcase_add_test(t, waiting_for_a_view_can_be_cancelled);
    tcase_add_test(t, what_assigns_waits_for_a_view_and_assigns_once);
    suite_add_tcase(s, t);
    return suite_run(s);
}
