/* test_import.c - CALL import_snapshot(). */
#include <stdio.h>
#include <string.h>

#include "scripted_controller.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "sql_harness.h"
#include "store.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* heap_v2/524288, and a stack of two addresses */
#define RAW                                                                    \
    "heap_v2/524288\n  t*: 1: 1024 [0: 0]\n@ 0x1234 0x5678\n"                  \
    "  t*: 1: 1024 [0: 0]\n"

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

static const char *
call(const char *name, const void *bytes, size_t size)
{
    struct buffer text;
    static char answer[1024];

    buffer_init(&text, 1 << 20);
    buffer_format(&text, "CALL heapwire.import_snapshot('%s', x'", name);
    for (size_t i = 0; i < size; i++)
        buffer_format(&text, "%02x", ((const unsigned char *)bytes)[i]);
    buffer_text(&text, "')");
    ck_assert(!text.failed);
    snprintf(answer, sizeof(answer), "%s", harness_run(&h, text.data));
    buffer_fini(&text);
    return answer;
}

static bool
is_kept(const char *name)
{
    struct store_entry entry;

    return store_find(scripted.store, name, &entry, NULL) == 0;
}

START_TEST(a_raw_profile_is_imported)
{
    struct store_entry entry;

    ck_assert_str_eq(call("raw1", RAW, sizeof(RAW) - 1), "name\nraw1");
    ck_assert_int_eq(store_find(scripted.store, "raw1", &entry, NULL), 0);
    ck_assert_int_eq(entry.cause, SNAPSHOT_IMPORTED);
    ck_assert_str_eq(harness_run(&h, "select count(*) n from "
                                     "heapwire.heap_stacks where snapshot = "
                                     "'raw1'"),
                     "n\n#1");
}
END_TEST

START_TEST(what_was_exported_is_imported)
{
    struct snapshot *snapshot;
    struct buffer bytes;
    struct error err;

    call("raw1", RAW, sizeof(RAW) - 1);
    snapshot = store_get(scripted.store, "raw1", &err);
    ck_assert_ptr_nonnull(snapshot);
    buffer_init(&bytes, 1 << 20);
    ck_assert_int_eq(snapshot_encode(snapshot, &bytes, &err), 0);
    snapshot_unref(snapshot);
    ck_assert_str_eq(call("copy", bytes.data, bytes.size), "name\ncopy");
    ck_assert_str_eq(harness_run(&h, "select raw('copy') = raw('raw1') same"),
                     "same\n#1");
    /* with the newline that clients put behind a value */
    buffer_char(&bytes, '\n');
    ck_assert_str_eq(call("line", bytes.data, bytes.size), "name\nline");
    bytes.data[bytes.size / 2] ^= 1;
    call("broken", bytes.data, bytes.size);
    ck_assert_uint_ne(h.error.code, 0);
    ck_assert(!is_kept("broken"));
    call("cut", bytes.data, bytes.size / 2);
    ck_assert_uint_ne(h.error.code, 0);
    ck_assert(!is_kept("cut"));
    buffer_fini(&bytes);
}
END_TEST

static const struct {
    const char *call, *answer;
} cases[] = {
    {"CALL import_snapshot('a', _binary'" RAW "')", "name\na"},
    {"call `heapwire`.IMPORT_SNAPSHOT(\"a\", '" RAW "');", "name\na"},
    {"CALL import_snapshot('a', 0x686561705f76322f310a)", NULL},
    {"CALL import_snapshot('a', '')",
     "1210/HY000 neither a snapshot of heapwire nor a heap profile of jemalloc "
     "(heap_v2) can be imported from these 0 bytes"},
    {"CALL import_snapshot('a', x'00ff')",
     "1210/HY000 neither a snapshot of heapwire nor a heap profile of jemalloc "
     "(heap_v2) can be imported from these 2 bytes"},
    {"CALL import_snapshot('../a', '" RAW "')",
     "1210/HY000 '../a' is not a snapshot's name (1 to 64 of a-z, 0-9, _)"},
    {"CALL import_snapshot('A', '" RAW "')",
     "1210/HY000 'A' is not a snapshot's name (1 to 64 of a-z, 0-9, _)"},
    {"CALL import_snapshot('', '" RAW "')",
     "1210/HY000 '' is not a snapshot's name (1 to 64 of a-z, 0-9, _)"},
    {"CALL import_snapshot('now', '" RAW "')",
     "1210/HY000 'now' is what views and tables call the fresh snapshot; "
     "take another name"},
    {"CALL import_snapshot('a', b'01')",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use "
     "near 'b'01')' at line 1"},
    {"CALL import_snapshot('a')",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use "
     "near ')' at line 1"},
    {"CALL import_snapshot('a', 0x123)",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use "
     "near '0x123)' at line 1"},
    {"CALL mysql.import_snapshot('a', '')",
     "1305/42000 PROCEDURE mysql.import_snapshot does not exist"},
};

START_TEST(calls_as_people_write_them)
{
    const char *answer = harness_run(&h, cases[_i].call);

    if (cases[_i].answer)
        ck_assert_str_eq(answer, cases[_i].answer);
    else
        ck_assert_uint_ne(h.error.code, ER_PARSE);
    ck_assert_int_eq(is_kept("a"), h.error.code == 0);
}
END_TEST

START_TEST(the_table_of_snapshots_shows_it)
{
    struct snapshot *snapshot = snapshot_import(RAW, sizeof(RAW) - 1, NULL);
    struct error err;

    call("raw1", RAW, sizeof(RAW) - 1);
    snprintf(snapshot->name, sizeof(snapshot->name), "mark");
    snprintf(snapshot->reason, sizeof(snapshot->reason), "80%% of the limit");
    snapshot->cause = SNAPSHOT_MARK;
    snapshot->memory.rss = (struct stats_figure){true, 123456};
    snapshot->memory.cgroup_limit = (struct stats_figure){true, 1 << 30};
    ck_assert_int_eq(store_add(scripted.store, snapshot, &err), 0);
    ck_assert_int_eq(store_pin(scripted.store, "mark", true, &err), 0);
    snapshot_unref(snapshot);
    ck_assert_str_eq(
        harness_run(&h, "select name, cause, reason, pinned, on_disk, size > 0 "
                        "sized, rss, cgroup_limit, resident from "
                        "heapwire.snapshots"),
        "name|cause|reason|pinned|on_disk|sized|rss|cgroup_limit|"
        "resident\n"
        "raw1|imported||#0|#0|#1|\\N|\\N|\\N\n"
        "mark|mark|80% of the limit|#1|#0|#1|#123456|#1073741824|\\N");
}
END_TEST

START_TEST(a_name_is_taken_once)
{
    call("raw1", RAW, sizeof(RAW) - 1);
    call("raw1", RAW, sizeof(RAW) - 1);
    ck_assert_uint_eq(h.error.code, ER_DUP_ENTRY);
    ck_assert(strstr(h.error.text, "raw1") != NULL);
}
END_TEST

START_TEST(it_needs_the_privilege)
{
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_STATUS | PRIVILEGE_PROFILE);
    ck_assert_str_eq(call("a", RAW, sizeof(RAW) - 1),
                     "1227/42000 Access denied; you need (at least one of) the "
                     "CONTROL privilege(s) for this operation");
    ck_assert(!is_kept("a"));
}
END_TEST

START_TEST(both_may_be_parameters)
{
    static const char text[] = "CALL import_snapshot(?, ?)";
    struct value given[] = {
        {.type = VALUE_TEXT, .data = "given", .size = 5},
        {.type = VALUE_BLOB, .data = RAW, .size = sizeof(RAW) - 1},
    };
    struct span span = {text, sizeof(text) - 1};
    struct sql_description told;

    ck_assert_int_eq(sql_describe(h.session, span, NULL, &told, &h.error), 0);
    ck_assert_uint_eq(told.parameter_count, 2);
    ck_assert_uint_eq(told.column_count, 1);
    ck_assert_str_eq(told.columns[0].name, "name");
    sql_description_fini(&told);
    buffer_clear(&h.answer);
    h.parameters = given;
    h.parameter_count = COUNT(given);
    ck_assert_msg(harness_open(&h, text) != NULL, "%s", h.error.text);
    ck_assert(!is_kept("given"));
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\ngiven");
    ck_assert(is_kept("given"));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("import");
    TCase *t = tcase_create("import");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_raw_profile_is_imported);
    tcase_add_test(t, what_was_exported_is_imported);
    tcase_add_loop_test(t, calls_as_people_write_them, 0, COUNT(cases));
    tcase_add_test(t, the_table_of_snapshots_shows_it);
    tcase_add_test(t, a_name_is_taken_once);
    tcase_add_test(t, it_needs_the_privilege);
    tcase_add_test(t, both_may_be_parameters);
    suite_add_tcase(s, t);
    return suite_run(s);
}
