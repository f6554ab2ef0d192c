/* test_bound_text.c - what the log shows of a statement with parameters. */
#include <string.h>

#include "bound_text.h"
#include "cursor.h"
#include "suite.h"

static const struct value values[] = {
    {.type = VALUE_INT, .integer = -7},
    {.type = VALUE_TEXT, .data = "it's", .size = 4},
    {.type = VALUE_NULL},
    {.type = VALUE_DOUBLE, .real = 0.5},
};

static const struct {
    const char *text, *bound;
} texts[] = {
    {"A ? ?", "A -7 'it''s'"},
    {"/* ? */ A '?' ? -- ?\n, ?", "A '?' -7 -- ?\n, 'it''s'"},
    {"?,?,?,?", "-7,'it''s',NULL,0.5"},
    {"?,?,?,?,?", "-7,'it''s',NULL,0.5,?"},
    {"/*! A ? */ B", "A -7 */ B"},
    {"A ? 'open ?", "A -7 'open ?"},
    {"", ""},
};

START_TEST(values_stand_where_the_parser_sees_parameters)
{
    const struct sql_parameters parameters = {values, 4};
    struct span text = {texts[_i].text, strlen(texts[_i].text)};
    struct buffer out;

    bound_text_init(&out, text, &parameters);
    ck_assert_uint_eq(bound_text(&out).size, strlen(texts[_i].bound));
    ck_assert_mem_eq(bound_text(&out).data, texts[_i].bound, out.size);
    buffer_fini(&out);
}
END_TEST

START_TEST(it_is_cut_wherever_it_gets_too_long)
{
    static char many[BOUND_TEXT_MAX * 2], quotes[BOUND_TEXT_MAX * 2];
    const struct value value = {
        .type = VALUE_TEXT, .data = quotes, .size = sizeof(quotes)};
    const struct sql_parameters parameters = {&value, 1};
    struct buffer out;

    memset(many, 'x', sizeof(many));
    memset(quotes, '\'', sizeof(quotes));
    memcpy(many, "A ?", 3);
    bound_text_init(&out, (struct span){many, sizeof(many)}, &parameters);
    ck_assert(!out.failed);
    ck_assert_uint_eq(bound_text(&out).size, BOUND_TEXT_MAX);
    buffer_fini(&out);
    memcpy(many + BOUND_TEXT_MAX - 1, " ? ", 3);
    memcpy(many, "A x", 3);
    bound_text_init(&out, (struct span){many, sizeof(many)}, &parameters);
    ck_assert(!out.failed);
    ck_assert_uint_eq(bound_text(&out).size, BOUND_TEXT_MAX);
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("bound_text");
    TCase *tc = tcase_create("bound_text");

    tcase_add_loop_test(tc, values_stand_where_the_parser_sees_parameters, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tc, it_is_cut_wherever_it_gets_too_long);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
