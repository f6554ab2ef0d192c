/* test_warnings.c - what a statement leaves for SHOW WARNINGS, and how long. */
#include <stdio.h>
#include <string.h>

#include "fake_peers.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"

#define ON_ALL "ADMIN EXECUTE ON ALL 'System.print(1)'"

static struct harness h;

/* 10002 cannot be reached. */
static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    fake_peers_reset();
    h.node.peers = &fake_peers.peers;
    fake_peers_add(10001, PEER_BACKEND)->rows = "one";
    *fake_peers_add(10002, PEER_BACKEND) =
        (struct fake_node){.row.id = 10002,
                           .error = ER_UNKNOWN,
                           .why = "submit failed for 10.0.0.2:9036: refused"};
    fake_peers_add(10003, PEER_BACKEND)->truncated = true;
}

static void
tear_down(void)
{
    harness_fini(&h);
    fake_peers_fini();
}

static const char lost[] =
    "Level|Code|Message\n"
    "Warning|#1105|node 10002: submit failed for 10.0.0.2:9036: refused\n"
    "Warning|#1105|node 10003: the output was truncated";

START_TEST(a_list_warns_of_every_node_that_failed_or_was_cut)
{
    harness_run(&h, ON_ALL);
    ck_assert_uint_eq(sql_session_warnings(h.session), 2);
    ck_assert_str_eq(harness_run(&h, "SHOW WARNINGS"), lost);
    ck_assert_uint_eq(sql_session_warnings(h.session), 0);
    ck_assert_str_eq(harness_run(&h, "SHOW ERRORS"), "Level|Code|Message");
}
END_TEST

/* Those that are about the warnings let them be. */
static const struct {
    const char *statement, *answer;
    bool clears;
} others[] = {
    {"SHOW WARNINGS", lost, false},
    {"SHOW WARNINGS LIMIT 1",
     "Level|Code|Message\nWarning|#1105|node 10002: submit failed for "
     "10.0.0.2:9036: refused",
     false},
    {"SHOW WARNINGS LIMIT 1, 5",
     "Level|Code|Message\nWarning|#1105|node 10003: the output was truncated",
     false},
    {"SHOW WARNINGS LIMIT 5 OFFSET 1",
     "Level|Code|Message\nWarning|#1105|node 10003: the output was truncated",
     false},
    {"SHOW WARNINGS LIMIT 0", "Level|Code|Message", false},
    {"SHOW WARNINGS LIMIT 9, 9", "Level|Code|Message", false},
    {"SHOW ERRORS LIMIT 1", "Level|Code|Message", false},
    {"SHOW COUNT(*) WARNINGS", "@@session.warning_count\n#2", false},
    {"SHOW COUNT(*) ERRORS", "@@session.error_count\n#0", false},
    {"SELECT @@warning_count, @@session.warning_count, @@error_count",
     "@@warning_count|@@session.warning_count|@@error_count\n#2|#2|#0", false},
    {"SELECT 1", "1\n#1", false},
    {"SELECT id FROM information_schema.processlist WHERE id = 7", "id\n#7",
     true},
    {"ADMIN EXECUTE ON 10001 'System.print(1)'", "result\n1", true},
    {"SET @a = 1", "OK", true},
    {"DO 1", "OK", true},
    {"SHOW MASTER STATUS", NULL, true},
    {"oops", NULL, true},
    {"SHOW CREATE TABLE heapwire.nothing", NULL, true},
};

START_TEST(they_stay_until_the_next_statement)
{
    for (int twice = 0; twice < 2; twice++) { /* a plan may be kept */
        harness_run(&h, ON_ALL);
        harness_run(&h, others[_i].statement);
        if (others[_i].answer)
            ck_assert_str_eq(h.answer.data, others[_i].answer);
        ck_assert_uint_eq(sql_session_warnings(h.session), 0);
        ck_assert_str_eq(harness_run(&h, "SHOW COUNT(*) WARNINGS"),
                         others[_i].clears ? "@@session.warning_count\n#0"
                                           : "@@session.warning_count\n#2");
    }
}
END_TEST

START_TEST(a_statement_that_warns_again_has_its_own_alone)
{
    harness_run(&h, ON_ALL);
    harness_run(&h, ON_ALL);
    ck_assert_uint_eq(sql_session_warnings(h.session), 2);
    ck_assert_str_eq(harness_run(&h, "SHOW WARNINGS"), lost);
}
END_TEST

START_TEST(describing_lets_them_be)
{
    struct span text = {"SHOW TABLES FROM heapwire", 25};
    struct sql_description told;
    struct error err;

    harness_run(&h, ON_ALL);
    ck_assert_int_eq(sql_describe(h.session, text, NULL, &told, &err), 0);
    sql_description_fini(&told);
    ck_assert_uint_eq(sql_session_warnings(h.session), 2);
    sql_session_reset(h.session);
    ck_assert_uint_eq(sql_session_warnings(h.session), 0);
}
END_TEST

START_TEST(all_are_counted_and_some_are_kept)
{
    const char *answer;
    size_t lines = 0;

    for (uint64_t id = 20000; id < 20100; id++) {
        struct fake_node *node = fake_peers_add(id, PEER_BACKEND);

        node->error = ER_UNKNOWN;
        node->why = "timeout after 60s";
    }
    harness_run(&h, ON_ALL);
    ck_assert_uint_eq(sql_session_warnings(h.session), 102);
    answer = harness_run(&h, "SHOW WARNINGS");
    for (; *answer; answer++)
        lines += *answer == '\n';
    ck_assert_uint_eq(lines, WARNINGS_MAX);
    ck_assert_str_eq(harness_run(&h, "SELECT @@warning_count AS n"), "n\n#102");
}
END_TEST

START_TEST(a_warning_is_one_clean_line)
{
    warnings_add(h.session, ER_UNKNOWN, "a\nb\x1b[0m\xff%c", '\t');
    ck_assert_str_eq(harness_run(&h, "SHOW WARNINGS"),
                     "Level|Code|Message\nWarning|#1105|a?b?[0m??");
}
END_TEST

/* Whatever a column is, but for bytes: clients decode it. */
START_TEST(what_is_no_utf8_is_not_sent_as_a_text)
{
    static const struct column columns[] = {
        {.name = "a", .type = COLUMN_TEXT},
        {.name = "b", .type = COLUMN_LONGTEXT},
        {.name = "c", .type = COLUMN_BLOB},
        {.name = "d", .type = COLUMN_DECIMAL},
        {.name = "e", .type = COLUMN_TEXT},
        {.name = "f", .type = COLUMN_BIGINT},
    };
    struct value row[] = {
        {VALUE_TEXT, "a\xe4", 2, 0, 0},      {VALUE_BLOB, "\xff", 1, 0, 0},
        {VALUE_TEXT, "\xe4", 1, 0, 0},       {VALUE_TEXT, "\x80", 1, 0, 0},
        {VALUE_TEXT, "\xc3\xa4\n", 3, 0, 0}, {VALUE_INT, NULL, 0, 7, 0},
    };

    harness_run(&h, "SELECT 1");
    for (int i = 0; i < 2; i++) /* a row may be asked for again */
        sql_session_check_row(h.session, columns, row, 6);
    ck_assert_int_eq(row[0].type, VALUE_NULL);
    ck_assert_int_eq(row[1].type, VALUE_NULL);
    ck_assert_int_eq(row[2].type, VALUE_TEXT);
    ck_assert_int_eq(row[3].type, VALUE_NULL);
    ck_assert_int_eq(row[4].type, VALUE_TEXT);
    ck_assert_int_eq(row[5].type, VALUE_INT);
    ck_assert_uint_eq(sql_session_warnings(h.session), 3);
}
END_TEST

START_TEST(bytes_that_are_no_characters_are_null)
{
    ck_assert_str_eq(
        harness_run(&h, "SELECT CHAR(228 USING utf8mb4) a, CAST(x'E4' AS CHAR) "
                        "b, CONVERT(x'E4' USING utf8mb4) c, HEX(CHAR(228)) d, "
                        "CHAR(195, 164 USING utf8mb4) e"),
        "a|b|c|d|e\n\\N|\\N|\\N|E4|\xc3\xa4");
    ck_assert_uint_eq(sql_session_warnings(h.session), 3);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("warnings");
    TCase *tc = tcase_create("warnings");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_list_warns_of_every_node_that_failed_or_was_cut);
    tcase_add_loop_test(tc, they_stay_until_the_next_statement, 0,
                        sizeof(others) / sizeof(others[0]));
    tcase_add_test(tc, a_statement_that_warns_again_has_its_own_alone);
    tcase_add_test(tc, describing_lets_them_be);
    tcase_add_test(tc, all_are_counted_and_some_are_kept);
    tcase_add_test(tc, a_warning_is_one_clean_line);
    tcase_add_test(tc, what_is_no_utf8_is_not_sent_as_a_text);
    tcase_add_test(tc, bytes_that_are_no_characters_are_null);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
