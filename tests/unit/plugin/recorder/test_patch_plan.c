/* test_patch_plan.c - the text of a plan, whole, cut and changed. */
#include <string.h>

#include "patch_plan.h"
#include "suite.h"

static struct patch_plan
make_plan(size_t count)
{
    struct patch_plan plan = {.count = count};

    for (size_t i = 0; i < count; i++)
        plan.functions[i] = (struct patch_function){
            .name = "posix_memalign",
            .address = 0x1234567890 + i,
            .original = {1, 2, 3, 4, 5, 0xff},
            .original_size = 6,
            .code = {6, 7, 8, 9, 10, 0xe9},
            .code_size = 11,
            .fixes = {{2, 1, 0xabcdef}, {6, 1, UINT64_MAX}},
            .fix_count = 2,
        };
    for (size_t i = 0; i < count; i++)
        plan.calls[plan.call_count++] = (struct patch_call){
            .address = 0x9876543210 + i,
            .original = {9, 8, 7, 6},
            .function = (uint8_t)(count - i - 1),
        };
    return plan;
}

START_TEST(a_plan_is_read_as_it_was_written)
{
    struct patch_plan plan = make_plan((size_t)_i), read;
    char text[PATCH_TEXT_MAX];

    ck_assert(patch_plan_write(&plan, text));
    ck_assert(patch_plan_read(text, &read));
    ck_assert_mem_eq(&plan, &read, sizeof(plan));
}
END_TEST

START_TEST(a_plan_that_was_cut_is_none)
{
    struct patch_plan plan = make_plan(2), read;
    char text[PATCH_TEXT_MAX + 1];
    size_t size;

    ck_assert(patch_plan_write(&plan, text));
    size = strlen(text);
    memcpy(text + size, "0", 2);
    ck_assert(!patch_plan_read(text, &read));
    memcpy(text + size, "00", 3);
    ck_assert(!patch_plan_read(text, &read));
    while (size > 0) {
        text[--size] = '\0';
        ck_assert(!patch_plan_read(text, &read));
    }
}
END_TEST

/* Under a sanitizer: nothing is read or written out of bounds. */
START_TEST(a_plan_with_any_other_digit_is_read_in_bounds)
{
    struct patch_plan plan = make_plan(2), read;
    char text[PATCH_TEXT_MAX];
    uint8_t moved[PATCH_CODE_MAX];

    ck_assert(patch_plan_write(&plan, text));
    for (size_t i = 0; text[i]; i++) {
        const char before = text[i];

        for (const char *digit = "0178fgF "; *digit; digit++) {
            text[i] = *digit;
            if (!patch_plan_read(text, &read))
                continue;
            for (size_t n = 0; n < read.count; n++)
                patch_fix_code(&read.functions[n], 0, 0, moved);
        }
        text[i] = before;
    }
}
END_TEST

START_TEST(what_is_too_long_is_no_plan)
{
    char text[PATCH_TEXT_MAX * 2 + 1];
    struct patch_plan plan;

    memset(text, '0', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    ck_assert(!patch_plan_read(text, &plan));
    ck_assert(!patch_plan_read("", &plan));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("patch_plan");
    TCase *tcase = tcase_create("patch_plan");

    tcase_add_loop_test(tcase, a_plan_is_read_as_it_was_written, 1,
                        PATCH_FUNCTIONS_MAX + 1);
    tcase_add_test(tcase, a_plan_that_was_cut_is_none);
    tcase_add_test(tcase, a_plan_with_any_other_digit_is_read_in_bounds);
    tcase_add_test(tcase, what_is_too_long_is_no_plan);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
