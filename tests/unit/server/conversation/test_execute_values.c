/* test_execute_values.c - the parameters of COM_STMT_EXECUTE, cut anywhere. */
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "errors.h"
#include "execute_values.h"
#include "prepared.h"
#include "suite.h"

#define BYTES(text) text, sizeof(text) - 1

static struct prepared_list *list;

static void
teardown(void)
{
    prepared_list_free(list);
    list = NULL;
}

static struct prepared *
prepare(size_t count)
{
    struct prepared *p =
        prepared_new(&list, "ann", (struct span){"SELECT ?", 8}, count, NULL);

    ck_assert_ptr_nonnull(p);
    return p;
}

static const struct {
    const char *what;
    const char *packet; /* of one parameter */
    size_t size;
    enum value_type type;
    const char *text; /* of TEXT and BLOB */
    int64_t integer;
    double real;
    uint64_t kind;
} values[] = {
    {"tiny", BYTES("\0\1\1\0\x80"), VALUE_INT, NULL, -128},
    {"unsigned tiny", BYTES("\0\1\1\x80\xff"), VALUE_INT, NULL, 255},
    {"short", BYTES("\0\1\2\0\xfe\xff"), VALUE_INT, NULL, -2},
    {"year", BYTES("\0\1\x0d\0\xea\7"), VALUE_INT, NULL, 2026},
    {"long", BYTES("\0\1\3\0\0\0\0\x80"), VALUE_INT, NULL, INT32_MIN},
    {"int24", BYTES("\0\1\x09\x80\1\2\3\0"), VALUE_INT, NULL, 0x30201},
    {"longlong", BYTES("\0\1\x08\0\0\0\0\0\0\0\0\x80"), VALUE_INT, NULL,
     INT64_MIN},
    {"large unsigned", BYTES("\0\1\x08\x80\xff\xff\xff\xff\xff\xff\xff\xff"),
     VALUE_TEXT, "18446744073709551615", .kind = VALUE_KIND_UNSIGNED},
    {"float", BYTES("\0\1\4\0\0\0\x80\x3e"), VALUE_DOUBLE, NULL, 0, 0.25},
    {"double", BYTES("\0\1\5\0\0\0\0\0\0\0\xe0\x3f"), VALUE_DOUBLE, NULL, 0,
     0.5},
    {"a null bit", BYTES("\1\1\xfd\0"), VALUE_NULL},
    {"type null", BYTES("\0\1\6\0"), VALUE_NULL},
    {"text", BYTES("\0\1\xfd\0\2hi"), VALUE_TEXT, "hi"},
    {"no text", BYTES("\0\1\xfe\0\0"), VALUE_TEXT, ""},
    {"a blob of text", BYTES("\0\1\xfc\0\2\xc3\xa9"), VALUE_TEXT, "\xc3\xa9"},
    {"a blob", BYTES("\0\1\xfc\0\2\xc3\x28"), VALUE_BLOB, "\xc3\x28"},
    {"text that is none", BYTES("\0\1\xfd\0\3\xed\xa0\x80"), VALUE_BLOB,
     "\xed\xa0\x80"},
    {"decimal", BYTES("\0\1\xf6\0\4-1.5"), VALUE_TEXT, "-1.5",
     .kind = VALUE_KIND_DECIMAL + 1},
    {"decimal that is none", BYTES("\0\1\xf6\0\4-1.x"), VALUE_TEXT, "-1.x"},
    {"decimal of no digit", BYTES("\0\1\xf6\0\0"), VALUE_TEXT, ""},
    {"decimal of 38 digits",
     BYTES("\0\1\xf6\0\x26"
           "10000000000000000000000000000000000000"),
     VALUE_TEXT, "10000000000000000000000000000000000000",
     .kind = VALUE_KIND_DECIMAL},
    {"decimal with zeros", BYTES("\0\1\xf6\0\5-1.50"), VALUE_TEXT, "-1.50",
     .kind = VALUE_KIND_DECIMAL + 2},
    {"decimal of zeros",
     BYTES("\0\1\xf6\0\4"
           "0.00"),
     VALUE_TEXT, "0.00", .kind = VALUE_KIND_DECIMAL + 2},
    {"date", BYTES("\0\1\x0a\0\4\xea\7\x0b\x15"), VALUE_TEXT, "2026-11-21"},
    {"date with time", BYTES("\0\1\x0a\0\7\xea\7\x0b\x15\1\2\3"), VALUE_TEXT,
     "2026-11-21"},
    {"no date", BYTES("\0\1\x0a\0\0"), VALUE_TEXT, "0000-00-00"},
    {"datetime", BYTES("\0\1\x0c\0\x0b\xea\7\x0b\x15\1\2\3\xa0\x86\1\0"),
     VALUE_TEXT, "2026-11-21 01:02:03.100"},
    {"timestamp", BYTES("\0\1\7\0\4\xea\7\x0b\x15"), VALUE_TEXT,
     "2026-11-21 00:00:00"},
    {"time", BYTES("\0\1\x0b\0\x0c\1\1\0\0\0\1\2\3\1\0\0\0"), VALUE_TEXT,
     "-25:02:03.000001"},
};
enum { VALUES = sizeof(values) / sizeof(values[0]) };

START_TEST(each_type_has_its_value)
{
    struct prepared *p = prepare(1);
    struct execute_values out;
    struct error err;
    const struct value *v;

    ck_assert_msg(execute_values_decode(
                      p, (struct span){values[_i].packet, values[_i].size},
                      &out, &err) == 0,
                  "%s: %s", values[_i].what, err.text);
    ck_assert_uint_eq(out.sql.count, 1);
    v = out.sql.values;
    ck_assert_msg(v->type == values[_i].type, "%s", values[_i].what);
    if (values[_i].text) {
        ck_assert_uint_eq(v->size, strlen(values[_i].text));
        ck_assert(memcmp(v->data, values[_i].text, v->size) == 0);
    }
    ck_assert_uint_eq(v->kind, values[_i].kind);
    if (v->type == VALUE_INT)
        ck_assert_int_eq(v->integer, values[_i].integer);
    if (v->type == VALUE_DOUBLE)
        ck_assert(v->real == values[_i].real);
    execute_values_fini(&out);
}
END_TEST

/* Each cut copy is its own allocation, so that ASan sees a byte too far. */
START_TEST(cut_or_longer_they_are_refused)
{
    struct execute_values out;
    struct error err;

    for (size_t size = 0; size <= values[_i].size + 1; size++) {
        struct prepared *p = prepare(1);
        char *copy = calloc(1, size ? size : 1);

        memcpy(copy, values[_i].packet,
               size < values[_i].size ? size : values[_i].size);
        if (size != values[_i].size) {
            ck_assert_msg(execute_values_decode(p, (struct span){copy, size},
                                                &out, &err) == -1,
                          "%s, %zu bytes", values[_i].what, size);
            ck_assert_uint_eq(err.code, ER_MALFORMED_PACKET);
        }
        free(copy);
        prepared_free(p);
    }
}
END_TEST

static const struct {
    const char *what;
    const char *packet;
    size_t size;
    uint16_t code;
} faults[] = {
    {"decimal of 39 digits",
     BYTES("\0\1\xf6\0\x27"
           "100000000000000000000000000000000000000"),
     ER_DATA_OUT_OF_RANGE},
    {"decimal of 38 decimals",
     BYTES("\0\1\xf6\0\x28"
           "1.00000000000000000000000000000000000001"),
     ER_DATA_OUT_OF_RANGE},
    {"types never sent", BYTES("\0\0\1"), ER_WRONG_ARGUMENTS},
    {"bit", BYTES("\0\1\x10\0\1x"), ER_WRONG_ARGUMENTS},
    {"geometry", BYTES("\0\1\xff\0\1x"), ER_WRONG_ARGUMENTS},
    {"month 13", BYTES("\0\1\x0a\0\4\xea\7\x0d\x01"), ER_WRONG_ARGUMENTS},
    {"year 10000", BYTES("\0\1\x0a\0\4\x10\x27\1\1"), ER_WRONG_ARGUMENTS},
    {"hour 24", BYTES("\0\1\x0c\0\7\xea\7\1\1\x18\0\0"), ER_WRONG_ARGUMENTS},
    {"day 35 of a time", BYTES("\0\1\x0b\0\x08\0\x23\0\0\0\0\0\0"),
     ER_WRONG_ARGUMENTS},
    {"a date of five bytes", BYTES("\0\1\x0a\0\5\xea\7\1\1\1"),
     ER_MALFORMED_PACKET},
    {"a time of seven bytes", BYTES("\0\1\x0b\0\7\0\0\0\0\0\0\0"),
     ER_MALFORMED_PACKET},
    {"a null as length", BYTES("\0\1\xfd\0\xfb"), ER_MALFORMED_PACKET},
    {"a huge length", BYTES("\0\1\xfd\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
     ER_MALFORMED_PACKET},
};

START_TEST(faults_are_reported)
{
    struct prepared *p = prepare(1);
    struct execute_values out;
    struct error err;

    ck_assert_msg(execute_values_decode(
                      p, (struct span){faults[_i].packet, faults[_i].size},
                      &out, &err) == -1,
                  "%s", faults[_i].what);
    ck_assert_msg(err.code == faults[_i].code, "%s: %s", faults[_i].what,
                  err.text);
}
END_TEST

START_TEST(a_bad_type_leaves_the_old_ones)
{
    struct prepared *p = prepare(2);
    struct execute_values out;
    struct error err;

    ck_assert_int_eq(
        execute_values_decode(p, (struct span){BYTES("\0\1\1\0\1\0\7\x08")},
                              &out, &err),
        0);
    execute_values_fini(&out);
    ck_assert_int_eq(
        execute_values_decode(p, (struct span){BYTES("\0\1\2\0\x10\0\7\0\x08")},
                              &out, &err),
        -1);
    ck_assert_int_eq(
        execute_values_decode(p, (struct span){BYTES("\1\0\x08")}, &out, &err),
        0);
    ck_assert_int_eq(out.sql.values[0].type, VALUE_NULL);
    ck_assert_int_eq(out.sql.values[1].integer, 8);
    execute_values_fini(&out);
}
END_TEST

START_TEST(long_data_stand_in_for_what_the_packet_leaves_out)
{
    struct prepared *p = prepare(2);
    struct execute_values out;
    struct error err;

    prepared_add_long(p, 1, (struct span){"ab", 2});
    prepared_add_long(p, 1, (struct span){"c", 1});
    ck_assert_int_eq(
        execute_values_decode(p, (struct span){BYTES("\2\1\1\0\xfc\0\7")}, &out,
                              &err),
        0);
    ck_assert_int_eq(out.sql.values[0].integer, 7);
    ck_assert_uint_eq(out.sql.values[1].size, 3);
    ck_assert(memcmp(out.sql.values[1].data, "abc", 3) == 0);
    execute_values_fini(&out);
    prepared_add_long(p, 2, (struct span){"x", 1});
    ck_assert_int_eq(
        execute_values_decode(p, (struct span){BYTES("\2\1\1\0\xfc\0\7")}, &out,
                              &err),
        -1);
    ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
}
END_TEST

START_TEST(ids_are_not_reused_soon)
{
    uint32_t seen[500];

    for (size_t i = 0; i < 500; i++) {
        struct prepared *p = prepare(0);

        seen[i] = p->id;
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(seen[j], p->id);
        ck_assert_ptr_eq(prepared_find(list, p->id, "x", NULL), p);
        if (i % 2)
            prepared_free(p);
        if (i)
            ck_assert_ptr_ne(prepared_find(list, seen[i - 1], "x", NULL), p);
        if (list->count == PREPARED_MAX)
            break;
    }
    list->made = 0xfffffd; /* as after millions */
    for (int i = 0; i < 4; i++) {
        struct prepared *p = prepare(0);

        ck_assert_uint_ne(p->id, 0);
        ck_assert_uint_ne(p->id, 0xffffffff);
        prepared_free(p);
    }
}
END_TEST

START_TEST(every_byte_taken_is_given_back)
{
    struct prepared *p = prepare(300), *other = prepare(1);
    static char data[1 << 20];
    struct error err;

    for (int i = 0; i < 40; i++)
        prepared_add_long(p, 299, (struct span){data, sizeof(data)});
    ck_assert_int_eq(prepared_check_long(p, &err), -1);
    ck_assert_uint_eq(err.code, ER_PACKET_TOO_LARGE);
    prepared_drop_long(p);
    ck_assert_int_eq(prepared_check_long(p, &err), 0);
    prepared_add_long(other, 0, (struct span){data, sizeof(data)});
    prepared_free(p);
    prepared_free(other);
    ck_assert_uint_eq(list->bytes, 0);
    ck_assert_uint_eq(list->count, 0);
    while (list->count < PREPARED_MAX)
        prepare(0);
    ck_assert_ptr_null(
        prepared_new(&list, "ann", (struct span){"", 0}, 0, &err));
    ck_assert_uint_eq(err.code, ER_TOO_MANY_PREPARED);
}
END_TEST

START_TEST(a_users_sessions_together_have_a_ceiling)
{
    static char data[1 << 20];
    struct memory_reservation held = {0};
    struct error err;
    struct prepared *p = prepare(1);

    memory_charge(&held, "ann", MEMORY_BUDGET_BYTES / 2);
    prepared_add_long(p, 0, (struct span){data, sizeof(data)});
    ck_assert_int_eq(prepared_check_long(p, &err), -1);
    ck_assert_uint_eq(err.code, ER_PACKET_TOO_LARGE);
    prepared_drop_long(p);
    memory_reserve(&held, "ann", MEMORY_BUDGET_BYTES / 4);
    prepared_add_long(p, 0, (struct span){data, sizeof(data)});
    ck_assert_int_eq(prepared_check_long(p, &err), 0);
    ck_assert_uint_gt(memory_budget_used(),
                      MEMORY_BUDGET_BYTES / 4 + sizeof(data));
    prepared_free(p);
    memory_reserve(&held, "ann", 0);
    ck_assert_uint_eq(memory_budget_used(), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("execute_values");
    TCase *tc = tcase_create("execute_values");

    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_loop_test(tc, each_type_has_its_value, 0, VALUES);
    tcase_add_loop_test(tc, cut_or_longer_they_are_refused, 0, VALUES);
    tcase_add_loop_test(tc, faults_are_reported, 0,
                        sizeof(faults) / sizeof(faults[0]));
    tcase_add_test(tc, a_bad_type_leaves_the_old_ones);
    tcase_add_test(tc, long_data_stand_in_for_what_the_packet_leaves_out);
    tcase_add_test(tc, ids_are_not_reused_soon);
    tcase_add_test(tc, every_byte_taken_is_given_back);
    tcase_add_test(tc, a_users_sessions_together_have_a_ceiling);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
