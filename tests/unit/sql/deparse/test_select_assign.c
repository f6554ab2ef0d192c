/* test_select_assign.c - @x := y in a SELECT. */
#include <stdio.h>

#include "sql_harness.h"
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

#define SYNTAX(near, line)                                                     \
    "1064/42000 You have an error in your SQL syntax; check the manual that "  \
    "corresponds to your heapwire version for the right syntax to use near "   \
    "'" near "' at line " line

static const struct {
    const char *query, *answer;
} assignments[] = {
    {"select @a := 1", "@a := 1\n#1"},
    {"select @a:=5, @a", "@a:=5|@a\n#5|#5"},
    {"select @a := 1 + 2 * 3 as x, @a + 1", "x|@a + 1\n#7|#8"},
    {"select @a := @b := 2, @a, @b", "@a := @b := 2|@a|@b\n#2|#2|#2"},
    {"select 1 + @a := 2 + 3 y", "y\n#6"},
    {"select @a := 1 = 2 or 3 z, @a", "z|@a\n#1|#1"},
    {"select @a := 'x' v, concat(@a, 'y'), @a := null, @a w",
     "v|concat(@a, 'y')|@a := null|w\nx|xy|\\N|\\N"},
    {"select (@a := 4) * 2 q, if(@`b c` := @a = 4, @'b c', 0) r", "q|r\n#8|#1"},
    {"select case 'int' when 'bit' then @a := -7 when 'int' then @a:=(4) else "
     "@a := 12 end t, case @a when 4 then 'four' end u",
     "t|u\n#4|four"},
    {"select @n := @n + 1 n from (select @n := 0) i, "
     "(select 1 union all select 2 union all select 3) j",
     "n\n#1\n#2\n#3"},
    {"select 1 from dual where (@a := 9) between 8 and 10 and @a = 9", "1\n#1"},
    {"select 1 := 2", SYNTAX(":= 2", "1")},
    {"select 1 + 2 := 2", SYNTAX(":= 2", "1")},
    {"select @a :=", SYNTAX("", "1")},
    {"select @@a := 1", "1193/HY000 Unknown system variable 'a'"},
    {"select @a := repeat('x', 4097)",
     "1231/42000 a variable has at most 64 bytes of name and 4096 of value"},
};

START_TEST(a_select_assigns_variables_as_it_goes)
{
    ck_assert_str_eq(harness_run(&h, assignments[_i].query),
                     assignments[_i].answer);
}
END_TEST

START_TEST(an_assigned_variable_stays_and_there_is_an_end_to_them)
{
    char text[64];

    harness_run(&h, "select @a := 1, @a := @a + 1");
    ck_assert_str_eq(harness_run(&h, "select @a"), "@a\n#2");
    ck_assert_str_eq(harness_run(&h, "do @a := 7"), "OK");
    ck_assert_str_eq(harness_run(&h, "set @b = (@a := 8) + 1"), "OK");
    ck_assert_str_eq(harness_run(&h, "select @a, @b"), "@a|@b\n#8|#9");
    for (int i = 2; i < 256; i++) {
        snprintf(text, sizeof(text), "select @v%d := %d", i, i);
        harness_run(&h, text);
        ck_assert_int_eq(h.error.code, 0);
    }
    ck_assert_str_eq(harness_run(&h, "select @more := 1"),
                     "1231/42000 a session has at most 256 variables");
    ck_assert_str_eq(harness_run(&h, "select @a := 1 x"), "x\n#1");
    ck_assert_str_eq(harness_run(&h, "select @v255, @more"),
                     "@v255|@more\n#255|\\N");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select_assign");
    TCase *tc = tcase_create("select_assign");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_select_assigns_variables_as_it_goes, 0,
                        COUNT(assignments));
    tcase_add_test(tc, an_assigned_variable_stays_and_there_is_an_end_to_them);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
