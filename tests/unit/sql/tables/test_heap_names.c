/* test_heap_names.c - which snapshots a heap_* table is of, whatever the
 * statement says of them. */
#include <stdio.h>
#include <string.h>

#include "profile_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "store.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "alpha()", false, NULL, 0},
                                            {0x5001, "main", false, NULL, 0},
                                            {0}};

static struct profile *
make_profile(void)
{
    return fixture_profile("heap_v2/1\n"
                           "@ 0x1000 0x2001 0x5001\n"
                           "t*: 1: 1000 [0: 0]\n"
                           "@ 0x1000 0x5001\n"
                           "t*: 1: 2000 [0: 0]\n",
                           names, NULL);
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = make_profile;
    scripted_keep("alpha");
    scripted_keep("beta_1");
    scripted_keep("beta_2");
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

static const char *const tables[] = {"heap_functions", "heap_stacks",
                                     "heap_frames", "heap_flame_graph",
                                     "heap_diff"};

#define ALL "alpha beta_1 beta_2 "

/* From where on, and of which snapshots there are rows: N is the table, or a
 * part of it where its base is named. */
static const struct {
    const char *rest, *wanted;
} shapes[] = {
    /* none is named: the heap now */
    {"N t", "now "},
    {"N t where 1 = 1", "now "},
    {"N t where function is not null", "now "},
    {"N t where function = 'main'", "now "},
    {"(select * from N x) t", "now "},
    {"N t order by snapshot", "now "},
    {"N t group by snapshot", "now "},
    {"N t join N u using (snapshot)", "now "},
    {"N t join N u on t.snapshot = u.snapshot", "now "},
    {"N t join N u on (`t`.`snapshot` <=> `u`.`snapshot`)", "now "},
    /* one is */
    {"N t where snapshot = 'beta_1'", "beta_1 "},
    {"N t where t.snapshot = 'BETA_1'", "beta_1 "},
    {"N t where `t`.`snapshot` = 'beta_1'", "beta_1 "},
    {"N t where 'beta_1' = snapshot", "beta_1 "},
    {"N t where snapshot in ('beta_1', 'now')", "beta_1 now "},
    {"N t where snapshot in (select name from snapshots)", ALL},
    {"N t where snapshot = 'now'", "now "},
    {"N t where snapshot = null", ""},
    {"N t where snapshot = 'last'", "last "},
    {"N t where snapshot in ('previous', 'Last')", "last previous "},
    /* some are, by whatever condition */
    {"N t where snapshot like '%'", ALL},
    {"N t where snapshot like 'beta%'", "beta_1 beta_2 "},
    {"N t where snapshot not like 'beta%'", "alpha "},
    {"N t where snapshot <> 'alpha'", "beta_1 beta_2 "},
    {"N t where snapshot != 'ALPHA'", "beta_1 beta_2 "},
    {"N t where not (snapshot = 'alpha')", "beta_1 beta_2 "},
    {"N t where not snapshot <=> 'alpha'", "beta_1 beta_2 "},
    {"N t where snapshot not in ('alpha', 'beta_2')", "beta_1 "},
    {"N t where snapshot between 'b' and 'beta_1z'", "beta_1 "},
    {"N t where snapshot >= 'beta_2'", "beta_2 "},
    {"N t where snapshot < 'beta_2'", "alpha beta_1 "},
    {"N t where snapshot is not null", ALL},
    {"N t where snapshot is null", ""},
    {"N t where upper(snapshot) = 'BETA_1'", "beta_1 "},
    {"N t where concat(snapshot, '!') = 'beta_1!'", "beta_1 "},
    {"N t where length(t.snapshot) = 5", "alpha "},
    {"N t where cast(snapshot as char) = 'beta_1'", "beta_1 "},
    {"N t where binary snapshot = 'beta_1'", "beta_1 "},
    {"N t where snapshot collate utf8mb4_bin = 'beta_1'", "beta_1 "},
    {"N t where snapshot regexp '_[2]$'", "beta_2 "},
    {"N t where ('beta_1' = 'All' or snapshot = 'beta_1')", "beta_1 "},
    {"N t where ('All' = 'All' or snapshot = 'All')", ALL},
    {"N t where ('now' = 'All' or snapshot = 'now')", "now "},
    {"N t where (@v = 'All' or snapshot = @v)", "now "},
    {"N t where snapshot = 'now' or snapshot like 'alpha'", "alpha now "},
    {"N t where (? = 'All' or snapshot = ?)", "now "},
    {"N t where if(snapshot = 'alpha', 1, 0)", "alpha "},
    {"N t where case snapshot when 'alpha' then 1 else 0 end", "alpha "},
    {"N t where instr('alpha,beta_2', snapshot)", "alpha beta_2 "},
    {"N t where exists (select 1 from snapshots s where s.name = t.snapshot "
     "and s.name < 'b')",
     "alpha "},
    {"N t where snapshot not in (select name from snapshots where name < 'b')",
     "beta_1 beta_2 "},
    {"N t where (snapshot, 1) in (('alpha', 1), ('beta_2', 1))",
     "alpha beta_2 "},
    {"N t where snapshot like 'beta%' and function = 'main'", "beta_1 beta_2 "},
    {"N t having snapshot like 'beta%'", "beta_1 beta_2 "},
    {"N t group by snapshot having snapshot > 'b'", "beta_1 beta_2 "},
    {"(select * from N x) t where snapshot like 'beta%'", "beta_1 beta_2 "},
    {"(select snapshot snapshot from N x) t where t.snapshot <> 'alpha'",
     "beta_1 beta_2 "},
    {"(select snapshot, snapshot as s from N x) t where s like 'beta%'",
     "beta_1 beta_2 "},
    {"(select snapshot, snapshot s from N x) t where upper(s) = 'ALPHA'",
     "alpha "},
    {"(select snapshot, sum(1) from N x group by 1) t where snapshot <> "
     "'alpha'",
     "beta_1 beta_2 "},
    {"snapshots s join N t on t.snapshot = s.name", ALL},
    {"N t join snapshots s on s.name = t.snapshot", ALL},
    {"N t left join snapshots s on s.name = t.snapshot", ALL},
    {"N t join N u using (snapshot) where t.snapshot like 'beta%'",
     "beta_1 beta_2 "},
};

static const struct value bound[] = {
    {.type = VALUE_TEXT, .data = "now", .size = 3},
    {.type = VALUE_TEXT, .data = "now", .size = 3}};

/* heap_diff is asked for what grew since alpha; a flame graph's functions have
 * another name. */
static void
write_query(char *out, size_t size, const char *table, const char *rest)
{
    size_t used =
        (size_t)snprintf(out, size, "select distinct t.snapshot from ");
    if (strcmp(table, "heap_diff") == 0)
        table = "(select * from heap_diff where base = 'alpha')";
    else if (strcmp(table, "heap_flame_graph") == 0)
        table = "(select snapshot, label as function from heap_flame_graph)";

    for (; *rest; rest++) {
        if (*rest != 'N')
            used += (size_t)snprintf(out + used, size - used, "%c", *rest);
        else
            used += (size_t)snprintf(out + used, size - used, "%s", table);
        ck_assert_uint_lt(used, size);
    }
}

static int
by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "snapshot\nb\na" as "a b ". */
static const char *
sorted(const char *answer)
{
    static char out[512];
    static char copy[512];
    char *lines[32], *at;
    size_t count = 0, used = 0;

    ck_assert_uint_lt(strlen(answer), sizeof(copy));
    strcpy(copy, answer);
    for (at = strchr(copy, '\n'); at; at = strchr(at, '\n')) {
        *at++ = '\0';
        ck_assert_uint_lt(count, COUNT(lines));
        lines[count++] = at;
    }
    if (count > 0)
        qsort(lines, count, sizeof(lines[0]), by_text);
    *out = '\0';
    for (size_t i = 0; i < count; i++)
        used +=
            (size_t)snprintf(out + used, sizeof(out) - used, "%s ", lines[i]);
    return out;
}

START_TEST(a_table_is_of_the_snapshots_that_are_asked_for)
{
    const char *rest = shapes[_i].rest;

    ck_assert_str_eq(harness_run(&h, "set @v = 'now'"), "OK");
    ck_assert_str_eq(harness_run(&h, "use heapwire"), "OK");
    h.parameters = strchr(rest, '?') ? bound : NULL;
    h.parameter_count = h.parameters ? COUNT(bound) : 0;
    for (size_t i = 0; i < COUNT(tables); i++) {
        char query[512];
        const char *answer;

        write_query(query, sizeof(query), tables[i], rest);
        scripted.submitted = 0;
        answer = harness_run(&h, query);
        ck_assert_msg(h.error.code == 0, "%s: %s", query, answer);
        ck_assert_msg(strcmp(sorted(answer), shapes[_i].wanted) == 0,
                      "%s: %s, not %s", query, sorted(answer),
                      shapes[_i].wanted);
        /* The node is asked where the answer has its heap, and no oftener. */
        ck_assert_msg(scripted.submitted ==
                          (strstr(shapes[_i].wanted, "now") != NULL),
                      "%s: asked %u times", query, scripted.submitted);
    }
}
END_TEST

/* More than a statement holds at once: each is read when its turn comes. */
START_TEST(all_that_are_kept_are_read_in_the_memory_of_a_few)
{
    static const char *const queries[] = {
        "select count(distinct snapshot) n, sum(flat_bytes) b from "
        "heapwire.heap_functions where snapshot like '%'",
        "select count(*) n, sum(b) b from (select s.name, sum(f.flat_bytes) b "
        "from heapwire.snapshots s join heapwire.heap_functions f on "
        "f.snapshot = s.name group by 1) t",
        "select count(distinct f.snapshot) n, sum(s.bytes) b from "
        "heapwire.heap_stacks s join heapwire.heap_frames f using (snapshot, "
        "stack) where f.depth = 0 and s.snapshot like '%'",
        "select count(distinct snapshot) n, sum(flat_bytes) + 43 * 3000 b from "
        "heapwire.heap_diff where base = 'alpha' and snapshot like '%'",
        "select count(distinct a.snapshot) n, sum(a.flat_bytes) b from "
        "heapwire.heap_functions a join heapwire.heap_functions b on "
        "b.function = a.function and b.snapshot = a.snapshot where "
        "length(a.snapshot) > 0",
    };
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "more_%d", i);
        scripted_keep(name);
    }
    for (size_t i = 0; i < COUNT(queries); i++)
        ck_assert_str_eq(harness_run(&h, queries[i]), "n|b\n#43|129000");
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

enum { FEW = 16, MORE = 30 };

/* Steps once: a few rows. */
static enum step
step(void)
{
    struct value values[2 * FEW];
    struct rows rows = {values, 0, FEW};
    enum step result = h.cursor->ops->step(h.cursor, &rows, &h.error);

    if (result != STEP_FAIL)
        harness_add_rows(&h, &rows);
    return result;
}

START_TEST(one_that_goes_meanwhile_is_passed_over)
{
    struct error err;
    char name[16];

    for (int i = 0; i < MORE; i++) {
        snprintf(name, sizeof(name), "more_%d", i);
        scripted_keep(name);
    }
    buffer_clear(&h.answer);
    harness_open(&h, "select snapshot, stack from heapwire.heap_stacks where "
                     "snapshot <> ''");
    ck_assert_int_eq(step(), STEP_MORE);
    snprintf(name, sizeof(name), "more_%d", MORE - 1);
    ck_assert_int_eq(store_delete(scripted.store, name, &err), 0);
    snprintf(name, sizeof(name), "more_%d", MORE - 2);
    ck_assert_int_eq(store_delete(scripted.store, name, &err), 0);
    scripted_keep(name); /* another one */
    scripted_keep("too_late");
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    harness_close(&h);
    snprintf(name, sizeof(name), "more_%d|#2", MORE - 3);
    ck_assert_str_eq(strrchr(h.answer.data, '\n') + 1, name);
    ck_assert_str_eq(harness_run(&h, "show count(*) warnings"),
                     "@@session.warning_count\n#2");
}
END_TEST

START_TEST(a_walk_is_killed_between_snapshots)
{
    harness_open(&h, "select snapshot, stack from heapwire.heap_stacks where "
                     "snapshot <> '' and bytes < 0");
    harness_cancel(&h);
    ck_assert_int_eq(step(), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    harness_close(&h);
}
END_TEST

/* A snapshot of another process has no difference; the others have. */
START_TEST(what_cannot_be_compared_is_passed_over)
{
    struct snapshot *other = scripted_snapshot("other");
    struct error err;

    other->hello.pid++;
    other->hello.start_ticks++;
    ck_assert_int_eq(store_add(scripted.store, other, &err), 0);
    snapshot_unref(other);
    ck_assert_str_eq(sorted(harness_run(
                         &h, "select distinct snapshot from heapwire.heap_diff "
                             "where base = 'alpha' and snapshot like '%'")),
                     ALL);
    ck_assert_str_eq(harness_run(&h, "show count(*) warnings"),
                     "@@session.warning_count\n#1");
    harness_run(&h, "select 1 from heapwire.heap_diff where base = 'alpha' and "
                    "snapshot = 'other'");
    ck_assert_uint_ne(h.error.code, 0);
    harness_run(&h, "select 1 from heapwire.heap_diff where base = 'nope' and "
                    "snapshot like '%'");
    ck_assert_str_eq(h.error.text,
                     "no snapshot named 'nope' is kept; SELECT name FROM "
                     "heapwire.snapshots lists those that are");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_names");
    TCase *tc = tcase_create("heap_names");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_table_is_of_the_snapshots_that_are_asked_for, 0,
                        COUNT(shapes));
    tcase_add_test(tc, all_that_are_kept_are_read_in_the_memory_of_a_few);
    tcase_add_test(tc, one_that_goes_meanwhile_is_passed_over);
    tcase_add_test(tc, a_walk_is_killed_between_snapshots);
    tcase_add_test(tc, what_cannot_be_compared_is_passed_over);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
