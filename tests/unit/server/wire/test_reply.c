/* test_reply.c - replies, byte by byte, in both dialects. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "await.h"
#include "capability.h"
#include "cursor.h"
#include "errors.h"
#include "reply.h"
#include "suite.h"

static struct reply reply;

static void
setup(void)
{
    reply_init(&reply);
    reply.sequence = 1;
    reply.capabilities = CAPABILITY_PROTOCOL_41;
}

static void
teardown(void)
{
    reply_fini(&reply);
}

static void
expect(const char *bytes, size_t size)
{
    ck_assert_uint_eq(reply.out.size, size);
    ck_assert(memcmp(reply.out.data, bytes, size) == 0);
}
#define EXPECT(text) expect(text, sizeof(text) - 1)

START_TEST(ok_carries_status_and_counts)
{
    reply.status = STATUS_AUTOCOMMIT | STATUS_IN_TRANSACTION;
    reply_ok(&reply, 300, "");
    EXPECT("\x09\0\0\1\0\xfc\x2c\x01\0\3\0\0\0");
    ck_assert_uint_eq(reply.sequence, 2);
}
END_TEST

START_TEST(ok_and_eof_count_warnings)
{
    reply.warnings = 0x102;
    reply_ok(&reply, 0, "");
    EXPECT("\x07\0\0\1\0\0\0\2\0\2\1");
    buffer_clear(&reply.out);
    reply_end(&reply);
    EXPECT("\x05\0\0\2\xfe\2\1\2\0");
    buffer_clear(&reply.out);
    reply.capabilities |= CAPABILITY_DEPRECATE_EOF;
    reply_end(&reply);
    EXPECT("\x07\0\0\3\xfe\0\0\2\0\2\1");
}
END_TEST

START_TEST(ok_may_carry_a_text)
{
    reply_ok(&reply, 0, "hello");
    EXPECT("\x0d\0\0\1\0\0\0\2\0\0\0\5hello");
}
END_TEST

START_TEST(errors_have_their_state_once_greeted)
{
    struct error err;

    error_set(&err, ER_PARSE, "no");
    reply_error(&reply, &err);
    EXPECT("\x0b\0\0\1\xff\x28\x04#42000no");
    buffer_clear(&reply.out);
    reply.capabilities = 0;
    reply.sequence = 0;
    reply_error(&reply, &err);
    EXPECT("\x05\0\0\0\xff\x28\x04no");
}
END_TEST

static const struct column columns[] = {
    {"n", "t", "heapwire", COLUMN_BIGINT, 20},
    {"x", "", "", COLUMN_TEXT, 10},
};
static const struct cursor cursor = {.columns = columns, .column_count = 2};

#define COLUMN_N                                                               \
    "\3def\x08heapwire\1t\1t\1n\1n\x0c\x3f\0\x14\0\0\0\x08\x80\0\0\0\0"
#define COLUMN_X "\3def\0\0\0\1x\1x\x0c\x2d\0\x28\0\0\0\xfd\0\0\x1f\0\0"

/* They quote the statement. */
START_TEST(errors_and_names_are_utf8)
{
    static const struct column column = {
        .name = "\xe4x", .table = "", .database = "", .type = COLUMN_INT};
    const struct cursor named = {.columns = &column, .column_count = 1};
    struct error err = {ER_PARSE, "42000", "near '\xe4\n\xc3\xa4'"};

    reply_error(&reply, &err);
    ck_assert_ptr_nonnull(
        memmem(reply.out.data, reply.out.size, "near '??\xc3\xa4'", 11));
    buffer_clear(&reply.out);
    reply_columns(&reply, &named);
    ck_assert_ptr_null(memchr(reply.out.data, 0xe4, reply.out.size));
    ck_assert_ptr_nonnull(
        memmem(reply.out.data, reply.out.size, "\2?x\2?x", 6));
}
END_TEST

START_TEST(columns_end_with_eof_in_the_classic_dialect)
{
    reply_columns(&reply, &cursor);
    reply_end(&reply);
    EXPECT("\1\0\0\1\2"
           "\x22\0\0\2" COLUMN_N "\x18\0\0\3" COLUMN_X "\5\0\0\4\xfe\0\0\2\0"
           "\5\0\0\5\xfe\0\0\2\0");
}
END_TEST

START_TEST(columns_end_without_eof_when_it_is_deprecated)
{
    reply.capabilities |= CAPABILITY_DEPRECATE_EOF;
    reply_columns(&reply, &cursor);
    reply_end(&reply);
    EXPECT("\1\0\0\1\2"
           "\x22\0\0\2" COLUMN_N "\x18\0\0\3" COLUMN_X
           "\7\0\0\4\xfe\0\0\2\0\0\0");
}
END_TEST

START_TEST(fields_have_an_absent_default)
{
    reply_fields(&reply, &cursor);
    EXPECT("\x23\0\0\1" COLUMN_N "\xfb"
           "\x19\0\0\2" COLUMN_X "\xfb"
           "\5\0\0\3\xfe\0\0\2\0");
}
END_TEST

START_TEST(rows_are_texts)
{
    const struct value values[] = {
        {.type = VALUE_INT, .integer = INT64_MIN},
        {.type = VALUE_NULL},
        {.type = VALUE_TEXT, .data = "hi", .size = 2},
        {.type = VALUE_DOUBLE, .real = 0.1},
        {.type = VALUE_DOUBLE, .real = 1.0 / 3},
        {.type = VALUE_DOUBLE, .real = INFINITY},
        {.type = VALUE_BLOB, .data = "\0\xff", .size = 2},
    };

    ck_assert_int_eq(reply_row(&reply, values, 7, NULL), 0);
    EXPECT("\x34\0\0\1"
           "\x14-9223372036854775808"
           "\xfb"
           "\2hi"
           "\3"
           "0.1"
           "\x12"
           "0.3333333333333333"
           "\xfb"
           "\2\0\xff");
}
END_TEST

/* Connector/J makes a Boolean of it only without the flag BINARY. */
START_TEST(a_flag_is_a_truth_value_to_drivers)
{
    static const struct column flag = {"n", "t", "heapwire", COLUMN_TINYINT, 1};
    static const struct cursor one = {.columns = &flag, .column_count = 1};

    reply_cursor(&reply, &one);
    EXPECT("\1\0\0\1\1\x22\0\0\2"
           "\3def\x08heapwire\1t\1t\1n\1n\x0c\x3f\0\1\0\0\0\1\0\0\0\0\0"
           "\5\0\0\3\xfe\0\0\x42\0");
}
END_TEST

START_TEST(rows_of_prepared_statements_are_binary)
{
    const struct value values[] = {{.type = VALUE_INT, .integer = 258},
                                   {.type = VALUE_NULL}};

    ck_assert_int_eq(reply_binary_row(&reply, columns, values, 2, NULL), 0);
    EXPECT("\x0a\0\0\1\0\x08\2\1\0\0\0\0\0\0");
}
END_TEST

#define PARAMETER "\3def\0\0\0\1?\1?\x0c\x3f\0\1\0\0\0\xfd\x80\0\0\0\0"

START_TEST(no_group_of_definitions_is_ended_that_is_empty)
{
    reply_prepared(&reply, 0x01020304, 0, NULL, 0);
    EXPECT("\x0c\0\0\1\0\4\3\2\1\0\0\0\0\0\0\0");
    buffer_clear(&reply.out);
    reply.sequence = 1;
    reply_prepared(&reply, 7, 1, columns + 1, 1);
    EXPECT("\x0c\0\0\1\0\7\0\0\0\1\0\1\0\0\0\0"
           "\x18\0\0\2" PARAMETER "\5\0\0\3\xfe\0\0\2\0"
           "\x18\0\0\4" COLUMN_X "\5\0\0\5\xfe\0\0\2\0");
    buffer_clear(&reply.out);
    reply.sequence = 1;
    reply.capabilities |= CAPABILITY_DEPRECATE_EOF;
    reply_prepared(&reply, 7, 1, columns + 1, 1);
    EXPECT("\x0c\0\0\1\0\7\0\0\0\1\0\1\0\0\0\0"
           "\x18\0\0\2" PARAMETER "\x18\0\0\3" COLUMN_X);
}
END_TEST

START_TEST(a_cursor_ends_its_columns_in_both_dialects)
{
    static const struct cursor one = {.columns = columns + 1,
                                      .column_count = 1};

    reply_cursor(&reply, &one);
    EXPECT("\1\0\0\1\1\x18\0\0\2" COLUMN_X "\5\0\0\3\xfe\0\0\x42\0");
    ck_assert_uint_eq(reply.status, STATUS_AUTOCOMMIT);
    buffer_clear(&reply.out);
    reply.sequence = 1;
    reply.capabilities |= CAPABILITY_DEPRECATE_EOF;
    reply_cursor(&reply, &one);
    EXPECT("\1\0\0\1\1\x18\0\0\2" COLUMN_X "\7\0\0\3\xfe\0\0\x42\0\0\0");
}
END_TEST

START_TEST(progress_is_an_error_of_its_own)
{
    const struct progress progress = {1, 2, 50, "stage"};

    reply_progress(&reply, &progress);
    EXPECT("\x0f\0\0\1\xff\xff\xff\1\1\2\x50\xc3\0\5stage");
}
END_TEST

START_TEST(a_row_over_its_ceiling_leaves_nothing_behind)
{
    char *text = calloc(1, REPLY_ROW_MAX);
    struct value value = {
        .type = VALUE_TEXT, .data = text, .size = REPLY_ROW_MAX};
    struct error err;

    reply_ok(&reply, 0, "");
    ck_assert_int_eq(reply_row(&reply, &value, 1, &err), -1);
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    ck_assert_uint_eq(reply.out.size, 11);
    ck_assert_uint_eq(reply.sequence, 2);
    value.size = REPLY_ROW_MAX - 64;
    ck_assert_int_eq(reply_row(&reply, &value, 1, &err), 0);
    ck_assert_uint_eq(reply.sequence, 6); /* in four pieces */
    free(text);
}
END_TEST

/* Memory ran out within the columns: no later packet may follow them. */
START_TEST(a_broken_reply_stays_broken)
{
    struct value value = {.type = VALUE_INT};
    struct error err;

    reply.out.failed = true;
    ck_assert_int_eq(reply_row(&reply, &value, 1, &err), -1);
    ck_assert(reply.out.failed);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tc = tcase_create("reply");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, ok_carries_status_and_counts);
    tcase_add_test(tc, ok_and_eof_count_warnings);
    tcase_add_test(tc, ok_may_carry_a_text);
    tcase_add_test(tc, errors_and_names_are_utf8);
    tcase_add_test(tc, errors_have_their_state_once_greeted);
    tcase_add_test(tc, errors_and_names_are_utf8);
    tcase_add_test(tc, columns_end_with_eof_in_the_classic_dialect);
    tcase_add_test(tc, columns_end_without_eof_when_it_is_deprecated);
    tcase_add_test(tc, fields_have_an_absent_default);
    tcase_add_test(tc, rows_are_texts);
    tcase_add_test(tc, a_flag_is_a_truth_value_to_drivers);
    tcase_add_test(tc, rows_of_prepared_statements_are_binary);
    tcase_add_test(tc, no_group_of_definitions_is_ended_that_is_empty);
    tcase_add_test(tc, a_cursor_ends_its_columns_in_both_dialects);
    tcase_add_test(tc, progress_is_an_error_of_its_own);
    tcase_add_test(tc, a_row_over_its_ceiling_leaves_nothing_behind);
    tcase_add_test(tc, a_broken_reply_stays_broken);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
