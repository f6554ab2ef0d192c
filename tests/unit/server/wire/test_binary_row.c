/* test_binary_row.c - rows by their columns' types; dates and times. */
#include <math.h>
#include <string.h>

#include "row_value.h"
#include "cursor.h"
#include "suite.h"

#define BYTES(text) text, sizeof(text) - 1
#define TEXT(text)                                                             \
    {                                                                          \
        VALUE_TEXT, text, sizeof(text) - 1                                     \
    }
#define INT(number)                                                            \
    {                                                                          \
        VALUE_INT, NULL, 0, number                                             \
    }
#define REAL(number)                                                           \
    {                                                                          \
        VALUE_DOUBLE, NULL, 0, 0, number                                       \
    }

static struct buffer out;

static void
setup(void)
{
    buffer_init(&out, 4096);
}

static void
teardown(void)
{
    buffer_fini(&out);
}

static const struct {
    enum column_type type;
    uint16_t flags;
    struct value value;
    const char *bytes; /* NULL: the value is NULL */
    size_t size;
} cells[] = {
    {COLUMN_TEXT, 0, TEXT("hi"), BYTES("\2hi")},
    {COLUMN_TEXT, 0, INT(-42), BYTES("\3-42")},
    {COLUMN_TEXT, 0, REAL(0.1),
     BYTES("\3"
           "0.1")},
    {COLUMN_TEXT, 0, {VALUE_NULL}, NULL, 0},
    {COLUMN_LONGTEXT, 0, TEXT(""), BYTES("\0")},
    {COLUMN_BLOB, 0, {VALUE_BLOB, "\0\xff", 2}, BYTES("\2\0\xff")},
    {COLUMN_NULL, 0, INT(1), NULL, 0},
    {COLUMN_DECIMAL, 0, TEXT("1.50"),
     BYTES("\4"
           "1.50")},
    {COLUMN_TINYINT, 0, INT(1), BYTES("\1")},
    {COLUMN_TINYINT, 0, INT(-300), BYTES("\x80")},
    {COLUMN_TINYINT, 0, TEXT("300"), BYTES("\x7f")},
    {COLUMN_INT, 0, INT(-2), BYTES("\xfe\xff\xff\xff")},
    {COLUMN_INT, 0, INT(INT64_MAX), BYTES("\xff\xff\xff\x7f")},
    {COLUMN_INT, 0, TEXT("-99999999999999999999"), BYTES("\0\0\0\x80")},
    {COLUMN_INT, COLUMN_UNSIGNED, INT(-1), BYTES("\0\0\0\0")},
    {COLUMN_INT, COLUMN_UNSIGNED, INT(1LL << 40), BYTES("\xff\xff\xff\xff")},
    {COLUMN_BIGINT, 0, INT(INT64_MIN), BYTES("\0\0\0\0\0\0\0\x80")},
    {COLUMN_BIGINT, 0, TEXT("258"), BYTES("\2\1\0\0\0\0\0\0")},
    {COLUMN_BIGINT, 0, TEXT("2.5"), BYTES("\3\0\0\0\0\0\0\0")},
    {COLUMN_BIGINT, 0, TEXT("1e3"), BYTES("\xe8\3\0\0\0\0\0\0")},
    {COLUMN_BIGINT, 0, TEXT("none"), BYTES("\0\0\0\0\0\0\0\0")},
    {COLUMN_BIGINT, 0, REAL(-1.5), BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff")},
    {COLUMN_BIGINT, 0, REAL(1e300), BYTES("\xff\xff\xff\xff\xff\xff\xff\x7f")},
    {COLUMN_BIGINT, 0, REAL(-1e300), BYTES("\0\0\0\0\0\0\0\x80")},
    {COLUMN_BIGINT, 0, REAL(NAN), NULL, 0},
    {COLUMN_BIGINT, COLUMN_UNSIGNED, TEXT("18446744073709551615"),
     BYTES("\xff\xff\xff\xff\xff\xff\xff\xff")},
    {COLUMN_BIGINT, COLUMN_UNSIGNED, REAL(0x1p63), BYTES("\0\0\0\0\0\0\0\x80")},
    {COLUMN_BIGINT, COLUMN_UNSIGNED, REAL(1e30),
     BYTES("\xff\xff\xff\xff\xff\xff\xff\xff")},
    {COLUMN_DOUBLE, 0, REAL(0.5), BYTES("\0\0\0\0\0\0\xe0\x3f")},
    {COLUMN_DOUBLE, 0, INT(1), BYTES("\0\0\0\0\0\0\xf0\x3f")},
    {COLUMN_DOUBLE, 0, TEXT("0.5"), BYTES("\0\0\0\0\0\0\xe0\x3f")},
    {COLUMN_DOUBLE, 0, TEXT("inf"), BYTES("\0\0\0\0\0\0\0\0")},
    {COLUMN_DOUBLE, 0, REAL(INFINITY), NULL, 0},
    {COLUMN_DATE, 0, TEXT("2026-11-21"), BYTES("\4\xea\7\x0b\x15")},
    {COLUMN_DATE, 0, TEXT("2026-11-21 10:00:00"), BYTES("\4\xea\7\x0b\x15")},
    {COLUMN_DATE, 0, TEXT("21.11.2026"), BYTES("\0")},
    {COLUMN_DATE, 0, INT(20261121), BYTES("\0")},
    {COLUMN_DATETIME, 0, TEXT("2026-11-21"), BYTES("\4\xea\7\x0b\x15")},
    {COLUMN_DATETIME, 0, TEXT("2026-11-21T01:02:03"),
     BYTES("\7\xea\7\x0b\x15\1\2\3")},
    {COLUMN_TIMESTAMP, 0, TEXT("2026-11-21 01:02:03.1"),
     BYTES("\x0b\xea\7\x0b\x15\1\2\3\xa0\x86\1\0")},
    {COLUMN_DATETIME, 0, TEXT("0000-00-00 00:00:00"), BYTES("\0")},
    {COLUMN_DATETIME, 0, TEXT("2026-11-21 25:02:03"), BYTES("\0")},
    {COLUMN_DATETIME, 0, TEXT("2026-11-21 01:02:03 "), BYTES("\0")},
    {COLUMN_DATETIME, 0, TEXT("2026-11-21 01:02:03."), BYTES("\0")},
    {COLUMN_TIME, 0, TEXT("01:02:03"), BYTES("\x08\0\0\0\0\0\1\2\3")},
    {COLUMN_TIME, 0, TEXT("-838:59:58.000001"),
     BYTES("\x0c\1\x22\0\0\0\x16\x3b\x3a\1\0\0\0")},
    {COLUMN_TIME, 0, TEXT("00:00:00"), BYTES("\0")},
    {COLUMN_TIME, 0, TEXT("840:00:00"), BYTES("\0")},
    {COLUMN_TIME, 0, TEXT("1:2"), BYTES("\0")},
};

START_TEST(values_become_what_their_column_is)
{
    struct column column = {.type = cells[_i].type, .flags = cells[_i].flags};
    bool is_null = !cells[_i].bytes;

    binary_row_put(&out, &column, &cells[_i].value, 1);
    ck_assert_uint_eq(out.size, 2 + cells[_i].size);
    ck_assert_int_eq(out.data[0], 0);
    ck_assert_int_eq(out.data[1], is_null ? 4 : 0);
    if (!is_null)
        ck_assert_msg(memcmp(out.data + 2, cells[_i].bytes, cells[_i].size) ==
                          0,
                      "cell %d", _i);
}
END_TEST

START_TEST(the_bitmap_has_as_many_bytes_as_it_needs)
{
    struct column columns[32];
    struct value row[32];

    for (size_t i = 0; i < 32; i++) {
        columns[i] = (struct column){.type = COLUMN_TEXT};
        row[i] = (struct value){.type = VALUE_NULL};
    }
    for (size_t count = 1; count <= 32; count++) {
        buffer_clear(&out);
        binary_row_put(&out, columns, row, count);
        ck_assert_uint_eq(out.size, 1 + (count + 9) / 8);
        for (size_t bit = 0; bit < (count + 9) / 8 * 8; bit++)
            ck_assert_int_eq((unsigned char)out.data[1 + bit / 8] >> bit % 8 &
                                 1,
                             bit >= 2 && bit < count + 2);
    }
}
END_TEST

/* What is printed is read, and what is put is read. */
static void
goes_around(const struct temporal *t)
{
    char text[TEMPORAL_TEXT], again[TEMPORAL_TEXT];
    struct column column = {.type = t->kind == TEMPORAL_TIME ? COLUMN_TIME
                                                             : COLUMN_DATETIME};
    struct value value = {.type = VALUE_TEXT, .data = text};
    struct temporal back;
    struct reader r;

    value.size = temporal_text(t, text);
    buffer_clear(&out);
    binary_row_put(&out, &column, &value, 1);
    r = reader_of(out.data, out.size);
    (void)reader_u16(&r); /* the header and the bitmap */
    ck_assert(binary_temporal_read(&r, t->kind, &back) && reader_done(&r));
    ck_assert_int_eq(back.micros, t->micros);
    ck_assert_uint_eq(temporal_text(&back, again), value.size);
    ck_assert_str_eq(again, text);
}

START_TEST(temporal_values_go_around)
{
    static const struct {
        int64_t micros;
        unsigned digits;
    } fractions[] = {{0, 0}, {1, 6}, {999999, 6}, {1000, 3}, {500000, 3}};
    int64_t fraction = fractions[_i % 5].micros;
    unsigned digits = fractions[_i % 5].digits;
    struct temporal t = {.kind = TEMPORAL_DATETIME,
                         .year = 2026,
                         .month = 12,
                         .day = 31,
                         .digits = digits};

    t.micros = (((_i % 24) * 60 + _i) * 60 + 59 - _i) * TEMPORAL_SECOND;
    t.micros += fraction;
    goes_around(&t);
    t = (struct temporal){.kind = TEMPORAL_TIME, .digits = digits};
    t.micros = (_i * 14 * 60 + 1) * 60 * TEMPORAL_SECOND + fraction;
    t.micros = _i % 2 ? -t.micros : t.micros;
    goes_around(&t);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("binary_row");
    TCase *tc = tcase_create("binary_row");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, values_become_what_their_column_is, 0,
                        sizeof(cells) / sizeof(cells[0]));
    tcase_add_test(tc, the_bitmap_has_as_many_bytes_as_it_needs);
    tcase_add_loop_test(tc, temporal_values_go_around, 0, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
