/* test_select_limits.c - how much a SELECT may take, and cancelling it. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "handle.h"
#include "poll_until.h"
#include "select_tree.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "sql_statement.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* Counts how often its statement computes for long. */
struct computing {
    struct await await; /* first */
    unsigned times;
    bool refuses;
};

static void
on_compute(void *arg, bool begins)
{
    struct computing *c = arg;

    c->times += !begins;
    if (c->refuses)
        await_cancel(&c->await);
}

static const char *const heavy[] = {
    "select length(repeat('a', 250000)) as n",
    "select 'a' regexp 'a' as n",
    "select length(sleep(0.05)) as n",
    ("select count(*) as n from information_schema.columns a, "
     "information_schema.columns b"),
    "select count(*) as n from information_schema.processlist",
};

/* And then goes on where it is, or ends where it may not. */
START_TEST(what_takes_long_says_so)
{
    struct span text = {heavy[_i / 2], strlen(heavy[_i / 2])};
    struct computing c = {.refuses = _i % 2};
    struct value value;
    struct rows rows = {&value, 0, 1};
    struct cursor *cursor;

    await_init(&c.await, on_compute, &c);
    cursor = sql_open(h.session, text, NULL, &c.await, &h.error);
    ck_assert_ptr_nonnull(cursor);
    ck_assert_uint_eq(c.times, 0);
    ck_assert_int_eq(cursor->ops->step(cursor, &rows, &h.error),
                     c.refuses ? STEP_FAIL : STEP_MORE);
    ck_assert_uint_gt(c.times, 0);
    ck_assert_uint_eq(rows.count, !c.refuses);
    if (c.refuses)
        ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    cursor_free(cursor);
    await_fini(&c.await);
}
END_TEST

static const char *
run_repeated(const char *first, const char *part, size_t count,
             const char *last)
{
    struct buffer text;
    const char *answer;

    buffer_init(&text, 64 << 20);
    buffer_text(&text, first);
    for (size_t i = 0; i < count; i++)
        buffer_text(&text, part);
    buffer_text(&text, last);
    answer = harness_run(&h, text.data);
    buffer_fini(&text);
    return answer;
}

static const struct {
    const char *open, *close;
    size_t levels;
    unsigned code;
} nests[] = {
    {"case when 1 then ", " end", 10, 0},
    {"case when 1 then ", " end", 30, ER_STACK_OVERRUN},
    {"case when 1 then ", " end", 150, ER_STACK_OVERRUN},
    {"case when 1 then ", " end", 3000, ER_STACK_OVERRUN},
    {"(select ", ")", 10, 0},
    {"(select ", ")", 40, ER_STACK_OVERRUN},
    {"(select ", ")", 150, ER_STACK_OVERRUN},
    {"abs(", ")", 63, ER_STACK_OVERRUN},
    {"not ", "", 600, ER_STACK_OVERRUN},
    {"not ", "", 3000, ER_STACK_OVERRUN},
};

START_TEST(depth_is_not_called_a_typing_error)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "select ");
    for (size_t i = 0; i < nests[_i].levels; i++)
        buffer_text(&text, nests[_i].open);
    buffer_char(&text, '1');
    for (size_t i = 0; i < nests[_i].levels; i++)
        buffer_text(&text, nests[_i].close);
    harness_run(&h, text.data);
    buffer_fini(&text);
    ck_assert_uint_eq(h.error.code, nests[_i].code);
}
END_TEST

START_TEST(queries_have_ceilings)
{
    run_repeated("select ", "(", 100000, "");
    ck_assert_uint_eq(h.error.code, ER_STACK_OVERRUN);
    run_repeated("select 1", "+1", 1000, "");
    ck_assert_uint_eq(h.error.code, ER_STACK_OVERRUN);
    run_repeated("select 1", "\nunion select 1", 1000, "");
    ck_assert_uint_eq(h.error.code, ER_NOT_SUPPORTED);
    run_repeated("select 1", "\nunion select 1", 49, "");
    ck_assert_uint_eq(h.error.code, 0);
    run_repeated("select '", "x", 16 << 20, "'");
    ck_assert_uint_eq(h.error.code, ER_NOT_SUPPORTED);
    run_repeated("select length('", "x", 100000, "') as n");
    ck_assert_str_eq(h.answer.data, "n\n#100000");
    run_repeated("select length(", "replace(", 60, "");
    ck_assert_uint_eq(h.error.code, ER_PARSE);
}
END_TEST

/* Each # is another number; most of them fit. */
static const struct {
    const char *first, *part, *last;
    size_t most;
    unsigned code;
} limits[] = {
    {"select concat(1", ",1", ")", SELECT_ARGUMENTS_MAX - 1, ER_NOT_SUPPORTED},
    {"select 1", ",1", "", CURSOR_COLUMNS_MAX - 1, ER_TOO_MANY_FIELDS},
    {"select 1 group by 1", ",1", "", CURSOR_COLUMNS_MAX - 1,
     ER_TOO_MANY_FIELDS},
    {"select 1 order by 1", ",1", "", CURSOR_COLUMNS_MAX - 1,
     ER_TOO_MANY_FIELDS},
    {"select sum(1) over (partition by 1", ",1", ")", CURSOR_COLUMNS_MAX - 1,
     ER_TOO_MANY_FIELDS},
    {"values row(1", ",1", ")", CURSOR_COLUMNS_MAX - 1, ER_TOO_MANY_FIELDS},
    {"select 1 from mysql.user t", ", mysql.user t#", " limit 0",
     SELECT_TABLES_MAX - 1, ER_TOO_MANY_TABLES},
    {"select 1 from mysql.user t", " join mysql.user t#", " limit 0",
     SELECT_TABLES_MAX - 1, ER_TOO_MANY_TABLES},
    {"select 1", " union select 1", "", SELECT_COMPOUNDS_MAX - 1,
     ER_NOT_SUPPORTED},
    {"with a as (select 1)", ", a# as (select 1)", " select 1",
     TREE_CTES_MAX - 1, ER_NOT_SUPPORTED},
    {"set @a = 1", ", @a = 1", "", ASSIGNMENTS_MAX - 1, ER_NOT_SUPPORTED},
    {"select group_concat(1 order by 1", ", 1", ")", 8 - 1, ER_NOT_SUPPORTED},
    {"select case 1 when 1 then 2 end", ", case 1 when 1 then 2 end", "",
     SLOTS_MAX - 1, ER_NOT_SUPPORTED},
};

static const char *
run_numbered(const char *first, const char *part, size_t count,
             const char *last)
{
    size_t plain = strcspn(part, "#");
    struct buffer text;
    const char *answer;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, first);
    for (size_t i = 0; i < count; i++) {
        buffer_add(&text, part, plain);
        if (part[plain])
            buffer_format(&text, "%zu%s", i, part + plain + 1);
    }
    buffer_text(&text, last);
    answer = harness_run(&h, text.data);
    buffer_fini(&text);
    return answer;
}

/* No typing error, and it says how many there may be. */
START_TEST(a_limit_is_named)
{
    size_t most = limits[_i].most, counts[] = {most + 1, 4 * most};
    char words[32];

    run_numbered(limits[_i].first, limits[_i].part, most, limits[_i].last);
    ck_assert_msg(h.error.code == 0, "%s: %s", limits[_i].first, h.error.text);
    snprintf(words, sizeof(words), ": at most %zu in ", most + 1);
    for (size_t i = 0; i < COUNT(counts); i++) {
        run_numbered(limits[_i].first, limits[_i].part, counts[i],
                     limits[_i].last);
        ck_assert_msg(
            h.error.code == limits[_i].code && strstr(h.error.text, words),
            "%s: %u %s", limits[_i].first, h.error.code, h.error.text);
    }
}
END_TEST

/* Parts that repeat without nesting may be as long as they like. */
START_TEST(what_does_not_nest_may_be_long)
{
    struct buffer text;

    run_repeated("select 'a'", " collate utf8mb4_bin", 5000,
                 " collate utf8mb4_general_ci = 'A' as n");
    ck_assert_str_eq(h.answer.data, "n\n#1");
    for (int i = 0; i < 2; i++) {
        buffer_init(&text, 1 << 20);
        for (int side = 0; side < 2; side++) {
            buffer_text(&text, side == 0 ? "select (0" : " = (0");
            for (int j = 1; j < 3000; j++)
                buffer_format(&text, ", %d", j + (i == 1 && j * side == 2999));
            buffer_char(&text, ')');
        }
        buffer_text(&text, " as n");
        ck_assert_str_eq(harness_run(&h, text.data),
                         i == 0 ? "n\n#1" : "n\n#0");
        buffer_fini(&text);
    }
}
END_TEST

START_TEST(values_cannot_grow_for_ever)
{
    harness_run(&h, "with recursive c(n, t) as (select 1, 'xxxxxxxx' union "
                    "all select n + 1, concat(t, t) from c where n < 60) "
                    "select max(length(t)) from c");
    ck_assert_uint_eq(h.error.code, ER_NOT_SUPPORTED);
    ck_assert_ptr_nonnull(strstr(h.error.text, "at most 262144 bytes"));
}
END_TEST

START_TEST(sorting_cannot_take_all_memory)
{
    harness_run(&h, "with recursive c(n) as (select 1 union all select n + 1 "
                    "from c) select concat(n, '" /* wide rows */
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                    "') t from c order by t desc");
    ck_assert_uint_eq(h.error.code, ER_OUT_OF_SORT_MEMORY);
    ck_assert_str_eq(harness_run(&h, "select 1"), "1\n#1");
}
END_TEST

/* ---- cancelling ---- */

static const char endless[] =
    "with recursive c(n) as (select 1 union all select n + 1 from c limit "
    "100000) select count(*) from c, (select 1 from c) d";

enum { SOON_MS = 30000 }; /* the others take minutes, or never end */

static void *
cancel_soon(void *arg)
{
    usleep(100000); /* it computes by then */
    harness_cancel(arg);
    return NULL;
}

/* An endless recursion ends by itself, wherever it reads itself. */
static const char *const recursions[] = {
    "with recursive c(n) as (select 1 union all select n + 1 from c) select "
    "count(*) from c",
    "with recursive c(n) as (select 1 union select n + 1 from c where n > 0 or "
    "n < 0) select max(n) from c",
    "with recursive c as (select 1 n union all select b.n + 1 from (select 1 x "
    "union all select 2) a join c b where a.x < 2) select 1 from c where n < "
    "0",
    "with recursive a(n) as (select 1), b(n) as (with recursive c(m) as "
    "(select 1 union all select m + 1 from c) select m from c) select count(*) "
    "from a, b",
    "select (with recursive c(n) as (select n x union all select 1 from c) "
    "select count(*) from c) from (select 1 n) t",
};

START_TEST(an_endless_recursion_ends_by_itself)
{
    uint64_t start = suite_cpu_ms();

    harness_run(&h, recursions[_i]);
    ck_assert_str_eq(h.answer.data,
                     "3636/HY000 Recursive query aborted after 1000000 rows. "
                     "Try increasing @@cte_max_recursion_depth to a larger "
                     "value.");
    ck_assert_uint_lt(suite_cpu_ms() - start, 20000);
}
END_TEST

START_TEST(the_session_says_how_far_it_recurs)
{
    static const char query[] = "with recursive c(n) as (select 1 union all "
                                "select n + 1 from c where n < 10) select "
                                "count(*) x from c";

    harness_run(&h, "set cte_max_recursion_depth = 9");
    harness_run(&h, query);
    ck_assert_uint_eq(h.error.code, ER_CTE_MAX_RECURSION_DEPTH);
    harness_run(&h, "set cte_max_recursion_depth = 10");
    ck_assert_str_eq(harness_run(&h, query), "x\n#10");
    ck_assert_str_eq(harness_run(&h, query), "x\n#10");
    harness_run(&h, "set cte_max_recursion_depth = 0");
    ck_assert_str_eq(harness_run(&h, "with recursive c(n) as (select 1) select "
                                     "n from c"),
                     "n\n#1");
}
END_TEST

START_TEST(an_endless_query_opens_at_once_and_is_interrupted)
{
    uint64_t start = clock_ms();
    pthread_t thread;

    ck_assert_ptr_nonnull(harness_open(&h, endless));
    ck_assert_uint_lt(clock_ms() - start, SOON_MS);
    pthread_create(&thread, NULL, cancel_soon, &h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_str_eq(h.error.text, "Query execution was interrupted");
}
END_TEST

START_TEST(cancelled_between_steps)
{
    harness_open(&h, "select 1");
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_str_eq(harness_run(&h, "select 1"), "1\n#1");
}
END_TEST

START_TEST(a_long_select_of_constants_is_whole)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "select 7 in (7");
    for (int i = 0; i < 60000; i++)
        buffer_text(&text, ",1");
    buffer_text(&text, ") as n");
    harness_open(&h, text.data);
    ck_assert_str_eq(harness_run(&h, text.data), "n\n#1");
    buffer_fini(&text);
}
END_TEST

START_TEST(sleep_waits_and_can_be_cancelled)
{
    harness_open(&h, "select sleep(30)");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_cancel(&h);
    ck_assert_int_eq(harness_finish(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_str_eq(harness_run(&h, "select sleep(0.05) x"), "x\n#0");
}
END_TEST

/* Statements that open at once; those that compute for long, and say so before
 * they do anything; and those whose words show that they end at once. */
static const struct {
    const char *text;
    bool at_once, instant;
} texts[] = {
    {"select 1", true, true},
    {"select @@version_comment limit 1", true, true},
    {"select user(), -1 + 2 * connection_id(), now()", true, true},
    {"select", true, true}, /* a syntax error is found at once */
    {"select @a := 1", true, false},
    {"select @a", true, false},        /* it may be long */
    {"select 'a' || 'b'", true, true}, /* OR */
    {"select 'aaa' regexp '(a+)+b'", true, false},
    {"select 'aaa' like '%a%a%b'", true, false},
    {"select repeat('a', 250000)", true, false},
    {"select version(sleep(1))", true, false},
    {"select sleep(1)", true, false},
    {"select 1 where sleep(1)", true, false},
    {"select 1 having sleep(1)", true, false},
    {"select 1 order by sleep(1)", true, false},
    {"select 1 union select 2", false, false},
    {"select (select 1)", false, false},
    {"select 1 from heapwire.nodes", true, false},
    {"select 1 from heapwire.nodes a, heapwire.nodes b, heapwire.nodes c",
     false, false},
    {"select get_lock('a', 0)", true, false},
    {"select release_lock('a') limit 1", true, true},
    {"do release_all_locks()", true, true},
    {"do sleep(1)", true, false},
    {"with a as (select 1) select 1", false, false},
    {"select sum(1) over ()", false, false},
    {"set autocommit = 1, @a = -1, sql_mode = 'ansi', names utf8mb4", true,
     true},
    {"set @a = (@b := 1)", true, false},
    {"set @a = 1, @b = sleep(1)", false, false},
    {"kill 7", true, true},
    {"kill connection_id()", true, false},
    {"do 1", true, true},
    {"show databases like 'a%'", true, true},
    {"show databases where 1", true, false},
    {"show backends", true, false}, /* asks other nodes */
    {"admin execute on 10001 'System.print(1)'", true, false},
    {"admin execute on 10001 "
     "'System.print(HeapProf.getInstance().dump_dot_snapshot())'",
     false, false},
    {"begin", true, true},
    {"use heapwire", true, true},
};

START_TEST(what_is_opened_at_once)
{
    struct span text = {texts[_i].text, strlen(texts[_i].text)};
    struct computing c = {.refuses = true};
    struct cursor *cursor;

    ck_assert_int_eq(sql_is_short_statement(h.session, text),
                     texts[_i].instant);
    await_init(&c.await, on_compute, &c);
    cursor = sql_open(h.session, text, NULL, &c.await, &h.error);
    ck_assert_int_eq(c.times == 0, texts[_i].at_once);
    if (!texts[_i].at_once) {
        ck_assert_ptr_null(cursor);
        ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    }
    cursor_free(cursor);
    await_fini(&c.await);
}
END_TEST

START_TEST(long_text_is_no_short_statement)
{
    static char text[8 * 1024] = "select 1";

    memset(text + 8, ' ', sizeof(text) - 8);
    ck_assert(sql_is_short_statement(h.session, (struct span){text, 1024}));
    ck_assert(
        !sql_is_short_statement(h.session, (struct span){text, sizeof(text)}));
}
END_TEST

static const char *const runaways[] = {
    "set @a = (with recursive c(n) as (select 1 union all select n + 1 from c "
    "limit 100000) select count(*) from c, (select 1 from c) d)",
    "set @a = repeat('a', 260000) regexp "
    "'[a-w]{0,250}[a-w]{0,250}[a-w]*+x|q'",
    "set @a = regexp_replace(repeat('a', 260000), "
    "'[a-w]{0,250}[a-w]{0,250}[a-w]*+x|a', 'b')",
    "set @a = regexp_instr(repeat('a', 260000), "
    "'[a-w]{0,250}[a-w]{0,250}[a-w]*+x|q')",
    "set @a = sleep(1000)",
    "set @a = 1, @b = (select get_lock('held', 1000))",
    "kill (select sleep(1000))",
};

static const struct sql_session another = {.connection_id = 99};

static const struct span held = {"held", 4};

struct opening_await {
    struct await await; /* first */
    bool sleeps;
    atomic_uint parks;
};

static void
on_park(void *arg, bool begins)
{
    struct opening_await *o = arg;

    atomic_fetch_add(&o->parks, begins);
}

/* A statement that computes is interrupted in the middle, or before. */
static void *
interrupt_soon(void *arg)
{
    struct opening_await *o = arg;

    usleep(100000); /* it computes by then */
    POLL_UNTIL(!o->sleeps || atomic_load(&o->parks) > 0);
    await_cancel(&o->await);
    return NULL;
}

/* Whatever is worked out, or waited for, while a statement is opened. */
START_TEST(an_opening_is_interrupted)
{
    struct span text = {runaways[_i], strlen(runaways[_i])};
    struct opening_await o = {.sleeps = strstr(text.data, "1000)")};
    uint64_t start = clock_ms();
    pthread_t thread;

    ck_assert_int_eq(user_lock_take(held, &another), USER_LOCK_DONE);
    await_init(&o.await, on_park, &o);
    pthread_create(&thread, NULL, interrupt_soon, &o);
    ck_assert_ptr_null(sql_open(h.session, text, NULL, &o.await, &h.error));
    pthread_join(thread, NULL);
    await_fini(&o.await);
    ck_assert_uint_eq(user_locks_release(&another),
                      1); /* and there is none to wake */
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_lt(clock_ms() - start, SOON_MS);
    ck_assert_str_eq(harness_run(&h, "select @a"), "@a\n\\N");
}
END_TEST

START_TEST(an_opening_has_a_deadline)
{
    static const char text[] = "set @a = sleep(1000)";
    struct span span = {text, sizeof(text) - 1};
    struct await await;

    await_init(&await, NULL, NULL);
    await.deadline_ms = clock_ms() + 50;
    ck_assert_ptr_null(sql_open(h.session, span, NULL, &await, &h.error));
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_ge(clock_ms(), await.deadline_ms);
    await_fini(&await);
}
END_TEST

/* The SELECT itself is prepared already. */
START_TEST(a_plan_is_interrupted)
{
    static const char text[] = "explain select id from heapwire.nodes";
    struct span span = {text, sizeof(text) - 1};
    struct await await;

    harness_run(&h, text + strlen("explain "));
    await_init(&await, NULL, NULL);
    await_cancel(&await);
    ck_assert_ptr_null(sql_open(h.session, span, NULL, &await, &h.error));
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    await_fini(&await);
}
END_TEST

/* The one that prepared the SELECT, which is kept, has ended. */
START_TEST(a_plan_asks_its_own_statement_whether_it_is_cancelled)
{
    static const char text[] = "explain select id from heapwire.nodes";
    struct span all = {text, sizeof(text) - 1};
    struct span select = {text + strlen("explain "),
                          sizeof(text) - 1 - strlen("explain ")};
    struct await first, second;
    struct cursor *cursor;

    await_init(&first, NULL, NULL);
    cursor = sql_open(h.session, select, NULL, &first, &h.error);
    ck_assert_ptr_nonnull(cursor);
    cursor_free(cursor);
    await_cancel(&first);
    await_init(&second, NULL, NULL);
    cursor = sql_open(h.session, all, NULL, &second, &h.error);
    ck_assert_ptr_nonnull(cursor);
    cursor_free(cursor);
    await_fini(&second);
    await_fini(&first);
}
END_TEST

/* However it is released: by name, with all others, or as its session ends. */
START_TEST(a_released_lock_wakes_what_waits_for_it)
{
    static const struct span lock = {"l", 1}, other = {"m", 1};
    const struct sql_session *owner = &another;

    ck_assert_int_eq(user_lock_take(lock, owner), USER_LOCK_DONE);
    ck_assert_int_eq(user_lock_take(lock, owner), USER_LOCK_DONE);
    ck_assert_int_eq(user_lock_take(other, owner), USER_LOCK_DONE);
    ck_assert_ptr_nonnull(harness_open(&h, "select 1, get_lock('l', -1) x"));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_int_eq(user_lock_release(other, owner), USER_LOCK_DONE);
    ck_assert_int_eq(user_lock_release(lock, owner), USER_LOCK_DONE);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED); /* it is held once more */
    if (_i)
        ck_assert_uint_eq(user_locks_release(owner), 1);
    else
        ck_assert_int_eq(user_lock_release(lock, owner), USER_LOCK_DONE);
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\n#1|#1");
    ck_assert_uint_eq(user_lock_owner(lock), 7);
    ck_assert_str_eq(harness_run(&h, "select get_lock('l', 1000) x"), "x\n#1");
    ck_assert_int_eq(user_lock_take(other, owner), USER_LOCK_DONE);
    ck_assert_str_eq(harness_run(&h, "select 1, get_lock('m', 0.05) x"),
                     "1|x\n#1|#0");
    ck_assert_uint_eq(user_locks_release(owner), 1);
}
END_TEST

static const char *const searches[] = {
    "select repeat('a', 260000) regexp '[a-w]{0,250}[a-w]{0,250}[a-w]*+x|q'",
    "select regexp_replace(repeat('a', 260000), "
    "'[a-w]{0,250}[a-w]{0,250}[a-w]*+x|a', 'b')",
    "select regexp_substr(repeat('a', 260000), "
    "'[a-w]{0,250}[a-w]{0,250}[a-w]*+x|q')",
    "select regexp_replace(repeat('a', 260000), 'a', 'b')",
};

START_TEST(a_search_is_interrupted)
{
    uint64_t start = clock_ms();
    pthread_t thread;

    ck_assert_ptr_nonnull(harness_open(&h, searches[_i]));
    pthread_create(&thread, NULL, cancel_soon, &h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_lt(clock_ms() - start, SOON_MS);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select_limits");
    TCase *tc = tcase_create("select_limits");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, what_takes_long_says_so, 0, 2 * COUNT(heavy));
    tcase_add_test(tc, a_long_select_of_constants_is_whole);
    tcase_add_loop_test(tc, what_is_opened_at_once, 0, COUNT(texts));
    tcase_add_test(tc, long_text_is_no_short_statement);
    tcase_add_loop_test(tc, depth_is_not_called_a_typing_error, 0,
                        COUNT(nests));
    tcase_add_test(tc, queries_have_ceilings);
    tcase_add_loop_test(tc, a_limit_is_named, 0, COUNT(limits));
    tcase_add_test(tc, what_does_not_nest_may_be_long);
    tcase_add_test(tc, values_cannot_grow_for_ever);
    tcase_add_test(tc, sorting_cannot_take_all_memory);
    tcase_add_loop_test(tc, an_endless_recursion_ends_by_itself, 0,
                        COUNT(recursions));
    tcase_add_test(tc, the_session_says_how_far_it_recurs);
    tcase_add_test(tc, an_endless_query_opens_at_once_and_is_interrupted);
    tcase_add_test(tc, cancelled_between_steps);
    tcase_add_test(tc, sleep_waits_and_can_be_cancelled);
    tcase_add_test(tc, an_opening_has_a_deadline);
    tcase_add_test(tc, a_plan_is_interrupted);
    tcase_add_test(tc, a_plan_asks_its_own_statement_whether_it_is_cancelled);
    tcase_add_loop_test(tc, a_released_lock_wakes_what_waits_for_it, 0, 2);
    tcase_add_loop_test(tc, an_opening_is_interrupted, 0, COUNT(runaways));
    tcase_add_loop_test(tc, a_search_is_interrupted, 0, COUNT(searches));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
