/* test_audit_text.c - nothing pushes a script out of its record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_text.h"
#include "cursor.h"
#include "suite.h"

static const struct value values[] = {
    {.type = VALUE_INT, .integer = -7},
    {.type = VALUE_TEXT, .data = "it's", .size = 4},
    {.type = VALUE_NULL},
    {.type = VALUE_DOUBLE, .real = 0.5},
};
static const struct sql_parameters parameters = {values, 4};

static const struct {
    const char *text, *shown;
} texts[] = {
    {"ADMIN  EXECUTE\tON 1 'a(1)'", "ADMIN EXECUTE ON 1 'a(1)'"},
    {" ;; ADMIN EXECUTE ON 1 'a';", "ADMIN EXECUTE ON 1 'a';"},
    {"/* a */ ADMIN -- b\nEXECUTE # c\nON/**/1 'a'", "ADMIN EXECUTE ON 1 'a'"},
    {"/*!40000 ADMIN EXECUTE ON 1 'a' */", "ADMIN EXECUTE ON 1 'a'"},
    {"CALL admin_execute ('1, 2', \"a\")", "CALL admin_execute ('1, 2', 'a')"},
    {"A '\\n // x\\n a /* '' /* y */ */ (1)\\n\\n\\n;  b \\n'",
     "A 'a (1); b;'"},
    {"A 'f(\"//  \\\\\" /*\", 1)'", "A 'f(\"//  \\\" /*\", 1)'"},
    {"A 'f(''x'')'", "A 'f(''x'')'"},
    {"A 'a /* open'", "A 'a /* open'"},
    {"A 'a\\0b\\n\\Z\xc3\xa9\xff'", "A 'a?b??\xc3\xa9?'"},
    {"ADMIN EXECUTE oops", "ADMIN EXECUTE oops"},
    {"A 'open", "A 'open"},
    {"A ? ?", "A -7 'it''s'"},
    {"/* ? */ A '?' ? -- ?\n, ?", "A '?' -7 , 'it''s'"},
    {"?,?,?,?", "-7,'it''s',NULL,0.5"},
    {"?,?,?,?,?", "-7,'it''s',NULL,0.5,?"},
    {"", ""},
};

START_TEST(a_record_shows_what_is_run)
{
    struct span text = {texts[_i].text, strlen(texts[_i].text)};
    char shown[AUDIT_TEXT_MAX + 1];

    audit_text_make(text, &parameters, NULL, shown);
    ck_assert_str_eq(shown, texts[_i].shown);
}
END_TEST

/* before, size times fill, after. */
static const struct {
    const char *before;
    char fill;
    const char *after, *seen;
} pads[] = {
    {"/*", '*', "*/ADMIN EXECUTE ON 1 'HeapProf.disable()'",
     "ADMIN EXECUTE ON 1 'HeapProf.disable()'"},
    {"ADMIN EXECUTE ON ", '0', "1 'HeapProf.disable()'",
     " bytes] 000000000000000000000000000001 'HeapProf.disable()'"},
    {"ADMIN EXECUTE ON 1", ' ', "'HeapProf.disable()'",
     "ADMIN EXECUTE ON 1 'HeapProf.disable()'"},
    {"ADMIN EXECUTE ON 1 '//", 'x', "\nHeapProf.disable()'",
     "ADMIN EXECUTE ON 1 'HeapProf.disable()'"},
    {"ADMIN EXECUTE ON 1 '", '\n', "HeapProf.disable()'",
     "ADMIN EXECUTE ON 1 'HeapProf.disable()'"},
    {"ADMIN EXECUTE ON 1 'HeapProf.disable() /*", '\'', "*/'",
     "'HeapProf.disable()"},
    {"ADMIN EXECUTE ON 1 'x(\"", 'x', "\")\nHeapProf.disable()'",
     "x\"); HeapProf.disable()'"},
    {"CALL admin_execute('1", ' ', "', 'HeapProf.disable()')",
     "', 'HeapProf.disable()')"},
    {"ADMIN EXECUTE ON 1 'HeapProf.disable()' ", 'x', "",
     "ADMIN EXECUTE ON 1 'HeapProf.disable()' x"},
};

START_TEST(nothing_pushes_the_script_out)
{
    static const size_t sizes[] = {600, 60000, 5000000};
    char shown[AUDIT_TEXT_MAX + 1], *text = malloc(sizes[2] + 200);
    size_t size;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size = (size_t)snprintf(text, 200, "%s", pads[_i].before);
        memset(text + size, pads[_i].fill, sizes[i]);
        size += sizes[i];
        size += (size_t)snprintf(text + size, 100, "%s", pads[_i].after);
        audit_text_make((struct span){text, size}, NULL, NULL, shown);
        ck_assert_uint_le(strlen(shown), AUDIT_TEXT_MAX);
        if (sizes[i] > 100000 && strchr(pads[_i].before, '\''))
            continue; /* larger than a script may be */
        ck_assert_msg(strstr(shown, pads[_i].seen), "%s", shown);
    }
    free(text);
}
END_TEST

START_TEST(what_is_left_out_is_counted)
{
    char text[2000] = "A '", shown[AUDIT_TEXT_MAX + 1];
    size_t size = 3;

    for (int i = 0; i < 300; i++)
        size += (size_t)snprintf(text + size, 8, "%03d,", i);
    text[size++] = '\'';
    audit_text_make((struct span){text, size}, NULL, NULL, shown);
    ck_assert_msg(strncmp(shown, "A '000,001,", 11) == 0, "%s", shown);
    ck_assert_msg(strstr(shown, ",043, [944 bytes] 280,281,"), "%s", shown);
    ck_assert_msg(strstr(shown, ",299,'"), "%s", shown);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("audit_text");
    TCase *tc = tcase_create("audit_text");

    tcase_add_loop_test(tc, a_record_shows_what_is_run, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_loop_test(tc, nothing_pushes_the_script_out, 0,
                        sizeof(pads) / sizeof(pads[0]));
    tcase_add_test(tc, what_is_left_out_is_counted);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
