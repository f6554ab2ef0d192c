/* test_select_wait.c - SELECTs that wait for the node. */
#include <stdio.h>
#include <string.h>

#include "fetch.h"
#include "memory.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "stats.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;
static unsigned stacks; /* of a profile; each of 1000 bytes more */

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "alpha()", false, NULL, 0},
                                            {0x3001, "beta()", false, NULL, 0},
                                            {0x5001, "main", false, NULL, 0},
                                            {0}};

static struct profile *
make_profile(void)
{
    char text[1 << 16];
    size_t used = (size_t)snprintf(text, sizeof(text), "heap_v2/1\n");

    for (unsigned i = 0; i < stacks; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used,
                             "@ 0x1000 0x%x 0x%x001 0x5001\nt*: 1: %u [0: 0]\n",
                             i % 2 ? 0x3001 : 0x2001, 0x10 + i, 1000 * (i + 1));
    ck_assert_uint_lt(used, sizeof(text));
    return fixture_profile(text, names, NULL);
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    stacks = 4;
    scripted.profile = make_profile;
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

static const char total[] = "select sum(bytes) b from heapwire.heap_stacks";

START_TEST(an_answer_that_is_there_is_not_waited_for)
{
    ck_assert_str_eq(harness_run(&h, total), "b\n10000");
    ck_assert_uint_eq(scripted.submitted, 1);
    ck_assert_uint_eq(scripted.profiles, 1);
}
END_TEST

static void
on_compute(void *arg, bool begins)
{
    *(unsigned *)arg += !begins;
}

/* A recent snapshot is there at once: work on it that is not reported as
 * computing would be done under the event loop's lock. */
START_TEST(what_reads_a_heap_computes)
{
    struct span text = {total, sizeof(total) - 1};
    unsigned times = 0;
    struct await await;
    struct value value;
    struct rows rows = {&value, 0, 1};
    struct cursor *cursor;

    await_init(&await, on_compute, &times);
    cursor = sql_open(h.session, text, NULL, &await, &h.error);
    ck_assert_ptr_nonnull(cursor);
    ck_assert_uint_eq(times, 0);
    ck_assert_int_eq(cursor->ops->step(cursor, &rows, &h.error), STEP_MORE);
    ck_assert_uint_gt(times, 0);
    cursor_free(cursor);
    await_fini(&await);
}
END_TEST

START_TEST(a_select_waits_and_goes_on)
{
    struct progress progress;

    scripted.answer = ANSWER_WAIT;
    harness_open(&h, total);
    ck_assert(!harness_progress(&h, &progress));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert(harness_progress(&h, &progress));
    ck_assert_uint_eq(progress.stage, 2);
    ck_assert_str_eq(progress.text, "naming");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED); /* woken for nothing */
    ck_assert_uint_eq(scripted.submitted, 1);
    scripted_finish(true);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\n10000");
    ck_assert(!harness_progress(&h, &progress));
    ck_assert_int_eq(scripted.seats, 0);
}
END_TEST

/* The first half of the UNION is given out before the second one waits. */
START_TEST(rows_are_given_once)
{
    scripted.answer = ANSWER_WAIT;
    harness_open(&h, "with recursive c(n) as (select 1 union all select n + 1 "
                     "from c where n < 200) select n from c union all select "
                     "bytes from heapwire.heap_stacks union all select 7 from "
                     "heapwire.nodes");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    scripted_finish(true);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    {
        const char *at = h.answer.data;
        char line[16];

        for (int i = 1; i <= 200; i++) {
            snprintf(line, sizeof(line), "\n#%d", i);
            ck_assert_msg(strncmp(at, line, strlen(line)) == 0, "row %d", i);
            at += strlen(line);
        }
        ck_assert_str_eq(at, "\n#1000\n#2000\n#3000\n#4000\n#7");
    }
}
END_TEST

START_TEST(a_failure_of_the_node_is_the_statements)
{
    static const struct {
        enum answer answer;
        const char *error;
    } cases[] = {{ANSWER_FAIL, "1105/HY000 opt.prof is false"},
                 {ANSWER_REFUSE, "1105/HY000 the database ended"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        scripted.answer = cases[i].answer;
        ck_assert_str_eq(harness_run(&h, total), cases[i].error);
        ck_assert_int_eq(scripted.seats, 0);
    }
    scripted.answer = ANSWER_WAIT;
    harness_open(&h, total);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    scripted_finish(false);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_str_eq(h.error.text, "opt.prof is false");
    scripted.answer = ANSWER_DONE;
    ck_assert_str_eq(harness_run(&h, total), "b\n10000");
}
END_TEST

START_TEST(waiting_can_be_cancelled_and_given_up)
{
    scripted.answer = ANSWER_HANG;
    harness_open(&h, total);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    harness_close(&h);
    ck_assert_int_eq(scripted.seats, 0);
    harness_open(&h, total);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_close(&h); /* the client is gone */
    ck_assert_int_eq(scripted.seats, 0);
    harness_open(&h, total);
    harness_cancel(&h); /* before it ever ran */
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
}
END_TEST

/* Each user takes all that it may: half of what is free. */
START_TEST(waiting_statements_leave_room_for_others)
{
    static const struct sql_identity others[] = {{"ann", "b", PRIVILEGE_ALL},
                                                 {"bob", "b", PRIVILEGE_ALL},
                                                 {"cy", "b", PRIVILEGE_ALL}};
    struct pull *waiting[FETCH_WAITERS_MAX];
    struct sql_session *own = h.session, *sessions[COUNT(others)];
    size_t count = 0;

    scripted.answer = ANSWER_HANG;
    for (size_t i = 0; i < COUNT(others); i++) {
        sessions[i] = sql_session_new(&h.node, &others[i], 8);
        h.session = sessions[i];
        for (size_t n = FETCH_WAITERS_MAX >> (i + 1); n > 0; n--) {
            harness_open(&h, total);
            ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
            waiting[count++] = harness_leave(&h);
        }
        harness_run(&h, total);
        ck_assert_uint_eq(h.error.code, ER_USER_LIMIT_REACHED);
        ck_assert_ptr_nonnull(strstr(h.error.text, "'SELECTs that wait'"));
        ck_assert_str_eq(harness_run(&h, "select id from heapwire.nodes"),
                         "id\n#10001");
    }
    h.session = sessions[0];
    harness_give_up(waiting[0]); /* there are fewer free, all the same */
    harness_run(&h, total);
    ck_assert_uint_eq(h.error.code, ER_USER_LIMIT_REACHED);
    h.session = own;
    harness_open(&h, total);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_close(&h);
    while (--count > 0)
        harness_give_up(waiting[count]);
    for (size_t i = 0; i < COUNT(others); i++)
        sql_session_free(sessions[i]);
    scripted.answer = ANSWER_DONE;
    ck_assert_str_eq(harness_run(&h, total), "b\n10000");
}
END_TEST

START_TEST(one_statement_sees_one_snapshot)
{
    ck_assert_str_eq(
        harness_run(&h, "select (select sum(bytes) from heapwire.heap_stacks) "
                        "a, (select max(cum_bytes) from "
                        "heapwire.heap_functions) b, (select count(*) from "
                        "heapwire.heap_frames where depth = 0) c, (select "
                        "count(*) from heapwire.heap_stacks x join "
                        "heapwire.heap_stacks y using (stack)) d"),
        "a|b|c|d\n10000|#10000|#4|#4");
    ck_assert_uint_eq(scripted.submitted, 1);
    harness_run(&h, total);
    ck_assert_uint_eq(scripted.submitted, 2); /* the controller shares */
}
END_TEST

static struct stats *
make_stats(void)
{
    struct stats *made = mem_zalloc(1, sizeof(*made));

    ck_assert_ptr_nonnull(made);
    made->references = 1;
    made->taken_ms = 1795228267000;
    made->rss = (struct stats_figure){true, 12345};
    return made;
}

static const char memory[] = "select rss, profile_bytes p from heapwire.memory";

START_TEST(statistics_and_a_snapshot_are_awaited_together)
{
    scripted.stats = make_stats;
    scripted.status.hello.active = 1;
    scripted.answer = ANSWER_WAIT;
    harness_open(&h, memory);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_uint_eq(scripted.submitted, 2);
    ck_assert_int_eq(scripted.seats, 2);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    harness_close(&h);
    ck_assert_int_eq(scripted.seats, 0);
    scripted.answer = ANSWER_DONE;
    ck_assert_str_eq(harness_run(&h, memory), "rss|p\n#12345|#10000");
    ck_assert_uint_eq(scripted.profiles, 1);
}
END_TEST

static void
check_note(const char *expected)
{
    const char *note = harness_run(&h, "select note from heapwire.memory");

    ck_assert_msg(strstr(note, expected) != NULL, "%s", note);
}

START_TEST(a_total_is_a_wish)
{
    scripted.stats = make_stats;
    scripted.answer = ANSWER_DONE;
    /* off: nothing asks for a profile */
    ck_assert_str_eq(harness_run(&h, memory), "rss|p\n#12345|\\N");
    check_note("profile_bytes is NULL: profiling is not active");
    ck_assert_uint_eq(scripted.profiles, 0);
    /* without the privilege */
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_STATUS);
    scripted.stats = make_stats;
    scripted.profile = make_profile;
    scripted.status.hello.active = 1;
    ck_assert_str_eq(harness_run(&h, memory), "rss|p\n#12345|\\N");
    check_note("profile_bytes is NULL: this account may not take profiles");
    ck_assert_uint_eq(scripted.profiles, 0);
    /* it fails */
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_ALL);
    scripted.stats = make_stats;
    scripted.status.hello.active = 1;
    scripted.fail_snapshots = true;
    ck_assert_str_eq(harness_run(&h, memory), "rss|p\n#12345|\\N");
    ck_assert_uint_eq(scripted.submitted, 2);
    check_note("profile_bytes is NULL: opt.prof is false");
    /* which another table does not forgive */
    harness_run(&h, "select rss, (select count(*) from heapwire.heap_stacks) "
                    "from heapwire.memory");
    ck_assert_str_eq(h.error.text, "opt.prof is false");
}
END_TEST

START_TEST(what_is_not_read_is_not_fetched)
{
    ck_assert_str_eq(harness_run(&h, "select id from heapwire.nodes where id = "
                                     "1 and (select count(*) from "
                                     "heapwire.heap_stacks) > 0"),
                     "id");
    ck_assert_uint_eq(scripted.submitted, 0);
    ck_assert_str_eq(harness_run(&h, "select bytes from heapwire.heap_stacks "
                                     "limit 0"),
                     "bytes");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

/* Columns of heapwire.memory that a statement names, and the number of
 * profiles that it takes for them. */
static const struct {
    const char *text;
    unsigned profiles;
} named[] = {
    {"SELECT rss FROM heapwire.memory", 0},
    {"SELECT count(*) FROM heapwire.memory", 0},
    {"SELECT taken, allocated, active, metadata, resident, mapped, retained, "
     "rss, rss_file, rss_shared, cgroup_current, cgroup_limit, unexplained "
     "FROM heapwire.memory WHERE rss > 0 ORDER BY rss",
     0},
    {"SELECT m.rss FROM (SELECT * FROM heapwire.memory) m", 0},
    {"SELECT * FROM heapwire.memory", 1},
    {"SELECT rss FROM heapwire.memory WHERE note LIKE '%a%'", 1},
    {"SELECT rss FROM heapwire.memory ORDER BY profile_samples", 1},
    {"SELECT a.rss, b.profile_bytes FROM heapwire.memory a, heapwire.memory b",
     1},
    {"SELECT a.profile_bytes, b.rss FROM heapwire.memory b, heapwire.memory a",
     1},
    {"SELECT rss, (SELECT profile_bytes FROM heapwire.memory) FROM "
     "heapwire.memory",
     1},
};

/* Each twice: a statement is prepared once. */
START_TEST(a_profile_is_taken_for_what_is_named_alone)
{
    scripted.stats = make_stats;
    scripted.status.hello.active = 1;
    scripted.answer = ANSWER_DONE;
    for (unsigned i = 1; i <= 2; i++) {
        harness_run(&h, named[_i].text);
        ck_assert_msg(h.error.code == 0, "%s", h.error.text);
        ck_assert_uint_eq(scripted.profiles, i * named[_i].profiles);
        ck_assert_uint_eq(scripted.submitted, i * (1 + named[_i].profiles));
    }
}
END_TEST

START_TEST(set_cannot_wait)
{
    ck_assert_str_eq(
        harness_run(&h, "SET @a = (SELECT count(*) FROM heapwire.heap_stacks)"),
        "1235/42000 only a SELECT can read what waits for the node or for a "
        "view");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(do_waits_as_a_select_does)
{
    ck_assert_str_eq(
        harness_run(&h, "DO (SELECT count(*) FROM heapwire.heap_stacks)"),
        "OK");
    ck_assert_uint_eq(scripted.submitted, 1);
}
END_TEST

START_TEST(kept_snapshots_are_read_without_the_node)
{
    scripted_keep("heap_a");
    stacks = 2;
    scripted_keep("heap_b");
    scripted.answer = ANSWER_REFUSE; /* it is gone */
    ck_assert_str_eq(harness_run(&h, "select snapshot, sum(bytes) from "
                                     "heapwire.heap_stacks where snapshot in "
                                     "('heap_b', 'HEAP_A') group by 1"),
                     "snapshot|sum(bytes)\nheap_a|10000\nheap_b|3000");
    ck_assert_uint_eq(scripted.submitted, 0);
    ck_assert_str_eq(harness_run(&h, "select 1 from heapwire.heap_stacks where "
                                     "snapshot = 'now'"),
                     "1105/HY000 the database ended");
}
END_TEST

/* One row per name, each of another snapshot: by whatever plan. */
static const char *const by_name[] = {
    "select s.name, count(*) n from heapwire.snapshots s join "
    "heapwire.heap_stacks h on h.snapshot = s.name group by 1",
    "select s.name, count(*) n from heapwire.heap_stacks h join "
    "heapwire.snapshots s on h.snapshot = s.name group by 1",
    "select s.name, count(*) n from heapwire.heap_stacks h cross join "
    "heapwire.snapshots s where s.name = h.snapshot group by 1",
    "select s.name, count(*) n from heapwire.heap_stacks h, "
    "heapwire.snapshots s, heapwire.nodes where s.name = h.snapshot group by "
    "1",
    "select snapshot name, count(*) n from heapwire.heap_stacks where snapshot "
    "in (select name from heapwire.snapshots) group by 1",
    "select snapshot name, count(*) n from heapwire.heap_stacks where snapshot "
    "= 'heap_a' or snapshot = 'heap_b' group by 1",
    "select snapshot name, count(*) n from heapwire.heap_stacks where "
    "(snapshot = 'heap_a' and stack < 9) or (snapshot = 'heap_b' and stack < "
    "9) group by 1",
    "select name, (select count(*) from heapwire.heap_stacks where snapshot = "
    "name) n from heapwire.snapshots",
    "select name, max(h.stack) n from heapwire.snapshots s left join "
    "heapwire.heap_frames h on h.snapshot = s.name and depth = 0 group by 1",
    "select s.name, count(*) n from heapwire.heap_stacks h join "
    "heapwire.heap_frames f using (snapshot, stack) join heapwire.snapshots s "
    "on h.snapshot = s.name where f.depth = 0 group by 1",
    "select s.name, count(*) n from heapwire.heap_frames f join "
    "heapwire.snapshots s on f.snapshot = s.name join heapwire.heap_stacks h "
    "on h.snapshot = f.snapshot and h.stack = f.stack where f.depth = 0 group "
    "by 1",
};

START_TEST(names_come_from_anywhere)
{
    scripted_keep("heap_a");
    stacks = 2;
    scripted_keep("heap_b");
    ck_assert_str_eq(harness_run(&h, by_name[_i]),
                     "name|n\nheap_a|#4\nheap_b|#2");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(the_fresh_one_beside_a_kept_one)
{
    stacks = 2;
    scripted_keep("heap_a");
    stacks = 4;
    ck_assert_str_eq(
        harness_run(&h, "select n.function, n.cum_bytes - k.cum_bytes more "
                        "from heapwire.heap_functions n join "
                        "heapwire.heap_functions k on k.function = n.function "
                        "and k.snapshot = 'heap_a' where n.snapshot = 'now' "
                        "order by more desc, 1"),
        "function|more\nmain|#7000\nbeta|#4000\nalpha|#3000\n"
        "0x10000|#0\n0x11000|#0");
    ck_assert_uint_eq(scripted.submitted, 1);
}
END_TEST

#define GROWN                                                                  \
    "select function f, cum_bytes b, flat_bytes x, cum_objects o, "            \
    "significant s from heapwire.heap_diff "

START_TEST(a_difference_is_a_table)
{
    stacks = 2;
    scripted_keep("heap_a");
    stacks = 4;
    scripted_keep("heap_b");
    ck_assert_str_eq(harness_run(&h, GROWN "where snapshot = 'HEAP_B' and base "
                                           "= 'heap_a' limit 3"),
                     "f|b|x|o|s\nmain|#7000|#0|#2|#1\n0x13000|#4000|#0|#1|#1\n"
                     "beta|#4000|#4000|#1|#1");
    ck_assert_str_eq(harness_run(&h, "select cum_bytes, snapshot, base from "
                                     "heapwire.heap_diff where base = 'heap_b' "
                                     "and snapshot = 'heap_a' and function = "
                                     "'ALPHA'"),
                     "cum_bytes|snapshot|base\n#-3000|heap_a|heap_b");
    ck_assert_uint_eq(scripted.submitted, 0);
    ck_assert_str_eq(harness_run(&h, "select function f, cum_bytes b from "
                                     "heapwire.heap_diff where base = 'heap_a' "
                                     "limit 1"),
                     "f|b\nmain|#7000"); /* of now */
    ck_assert_uint_eq(scripted.submitted, 1);
    ck_assert_str_eq(
        harness_run(&h, "select s.name, max(d.cum_bytes) m from "
                        "heapwire.snapshots s join heapwire.heap_diff d on "
                        "d.snapshot = s.name where d.base = 'heap_a' group by "
                        "1"),
        "name|m\nheap_a|#0\nheap_b|#7000");
    ck_assert_str_eq(harness_run(&h, "select function from heapwire.heap_diff "
                                     "where base = null"),
                     "function");
    /* reading all tables goes on, with a warning */
    ck_assert_str_eq(harness_run(&h, "select count(*) n from "
                                     "heapwire.heap_diff where "
                                     "snapshot = 'heap_b'"),
                     "n\n#0");
    ck_assert_str_eq(harness_run(&h, "show warnings"),
                     "Level|Code|Message\nWarning|#1210|heap_diff compares "
                     "with a snapshot that must be named: add WHERE base = "
                     "'...'");
    harness_run(&h, "select 1 from heapwire.heap_diff where base = 'nope'");
    ck_assert_str_eq(h.error.text,
                     "no snapshot named 'nope' is kept; SELECT name FROM "
                     "heapwire.snapshots lists those that are");
}
END_TEST

START_TEST(a_name_may_be_a_parameter)
{
    static const char text[] = "select sum(bytes) from heapwire.heap_stacks "
                               "where snapshot = ? and stack < ?";
    struct value given[] = {{.type = VALUE_TEXT, .data = "heap_a", .size = 6},
                            {.type = VALUE_INT, .integer = 3}};

    scripted_keep("heap_a");
    buffer_clear(&h.answer);
    h.parameters = given;
    h.parameter_count = COUNT(given);
    ck_assert_msg(harness_open(&h, text) != NULL, "%s", h.error.text);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\n3000");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(an_unknown_name_is_an_error)
{
    scripted_keep("heap_a");
    ck_assert_str_eq(harness_run(&h, "select 1 from heapwire.heap_functions "
                                     "where snapshot = 'heap_z'"),
                     "1032/HY000 no snapshot named 'heap_z' is kept; SELECT "
                     "name FROM heapwire.snapshots lists those that are");
    ck_assert_str_eq(harness_run(&h, "select 1 from heapwire.heap_functions "
                                     "where snapshot = ''"),
                     "1032/HY000 no snapshot named '' is kept; SELECT "
                     "name FROM heapwire.snapshots lists those that are");
    ck_assert_str_eq(harness_run(&h, "select 1 from heapwire.heap_functions "
                                     "where snapshot = null"),
                     "1");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(snapshots_of_one_statement_have_a_ceiling)
{
    struct buffer text;

    for (int i = 0; i < 8; i++) {
        char name[] = {'s', (char)('a' + i), '\0'};

        scripted_keep(name);
    }
    ck_assert_str_eq(harness_run(&h, "select count(distinct snapshot) n from "
                                     "heapwire.heap_stacks where snapshot in "
                                     "(select name from heapwire.snapshots)"),
                     "n\n#8");
    buffer_init(&text, 1 << 20);
    buffer_text(&text, "select count(*) from heapwire.heap_stacks where "
                       "snapshot in ('sa'");
    for (int i = 0; i < 1000; i++)
        buffer_format(&text, ",'x%d'", i);
    buffer_text(&text, ")");
    harness_run(&h, text.data);
    ck_assert_uint_eq(h.error.code, ER_KEY_NOT_FOUND);
    buffer_fini(&text);
}
END_TEST

START_TEST(taking_one_needs_the_privilege)
{
    static const char *const tables[] = {"heap_functions", "heap_stacks",
                                         "heap_frames", "heap_flame_graph",
                                         "heap_diff"};
    char text[64];

    harness_fini(&h);
    harness_init(&h, PRIVILEGE_STATUS);
    for (size_t i = 0; i < COUNT(tables); i++) {
        snprintf(text, sizeof(text), "select 1 from heapwire.%s", tables[i]);
        ck_assert_str_eq(harness_run(&h, text),
                         "1227/42000 Access denied; you need (at least one of) "
                         "the PROFILE privilege(s) for this operation");
    }
    ck_assert_str_eq(harness_run(&h, "select count(*) n from "
                                     "heapwire.snapshots"),
                     "n\n#0");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select_wait");
    TCase *tc = tcase_create("select_wait");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, an_answer_that_is_there_is_not_waited_for);
    tcase_add_test(tc, what_reads_a_heap_computes);
    tcase_add_test(tc, a_select_waits_and_goes_on);
    tcase_add_test(tc, rows_are_given_once);
    tcase_add_test(tc, a_failure_of_the_node_is_the_statements);
    tcase_add_test(tc, waiting_can_be_cancelled_and_given_up);
    tcase_add_test(tc, waiting_statements_leave_room_for_others);
    tcase_add_test(tc, one_statement_sees_one_snapshot);
    tcase_add_test(tc, statistics_and_a_snapshot_are_awaited_together);
    tcase_add_test(tc, a_total_is_a_wish);
    tcase_add_test(tc, what_is_not_read_is_not_fetched);
    tcase_add_loop_test(tc, a_profile_is_taken_for_what_is_named_alone, 0,
                        COUNT(named));
    tcase_add_test(tc, set_cannot_wait);
    tcase_add_test(tc, do_waits_as_a_select_does);
    tcase_add_test(tc, kept_snapshots_are_read_without_the_node);
    tcase_add_loop_test(tc, names_come_from_anywhere, 0, COUNT(by_name));
    tcase_add_test(tc, the_fresh_one_beside_a_kept_one);
    tcase_add_test(tc, a_difference_is_a_table);
    tcase_add_test(tc, a_name_may_be_a_parameter);
    tcase_add_test(tc, an_unknown_name_is_an_error);
    tcase_add_test(tc, snapshots_of_one_statement_have_a_ceiling);
    tcase_add_test(tc, taking_one_needs_the_privilege);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
