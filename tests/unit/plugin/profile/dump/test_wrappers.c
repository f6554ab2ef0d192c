/* test_wrappers.c - functions that a user counts among the allocator's. */
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "names.h"
#include "suite.h"
#include "allocator.h"

static const char list[] = "zmalloc_usable,db::Pool::*,operator[],A::get";

static const struct {
    const char *name;
    bool is;
} names[] = {
    {"zmalloc_usable", true},
    {"zmalloc_usable.part.0", true},
    {"zmalloc_usable [clone .cold]", true},
    {"zmalloc_usable2", false},
    {"zmalloc", false},
    {"", false},
    {"db::Pool::take", true},
    {"db::Pool::take<int>(int) const", true},
    {"void* db::Pool::take<int>(int)", true},
    {"db::Pool<int>::take", true},
    {"<db::Pool<T> as a::Take>::take", true},
    {"db::Pool", false},
    {"A::get", true},
    {"A<b, c>::get<d>(int)", true},
    {"B::A::get", false},
};

START_TEST(names_are_looked_up_as_they_are_shown)
{
    struct buffer scratch;

    buffer_init(&scratch, 1024);
    ck_assert_msg(
        wrappers_have(list,
                      (struct span){names[_i].name, strlen(names[_i].name)},
                      &scratch) == names[_i].is,
        "%s", names[_i].name);
    ck_assert(!wrappers_have(NULL, (struct span){"a", 1}, &scratch));
    ck_assert(!wrappers_have("", (struct span){"a", 1}, &scratch));
    buffer_fini(&scratch);
}
END_TEST

START_TEST(lists_are_read_and_joined)
{
    char text[WRAPPERS_TEXT_BYTES] = "";
    struct error err = {0};

    ck_assert_int_eq(wrappers_add(text, " zmalloc_usable , my_malloc*", &err),
                     0);
    ck_assert_str_eq(text, "zmalloc_usable,my_malloc*");
    ck_assert_int_eq(wrappers_add(text, "operator new[]", &err), 0);
    ck_assert_str_eq(text, "zmalloc_usable,my_malloc*,operator new[]");
    ck_assert_int_eq(wrappers_add(text, "", &err), 0);
    ck_assert_str_eq(text, "zmalloc_usable,my_malloc*,operator new[]");
}
END_TEST

static const char *const wrong[][2] = {
    {"*", "must be names"},    {"a,*", "must be names"},
    {"a*b", "must be names"},  {"a**", "must be names"},
    {",", "must be names"},    {"a,,b", "must be names"},
    {"a\tb", "must be names"}, {"a\x7f", "must be names"},
    {" ", "must be names"},
};

START_TEST(faults_are_reported)
{
    char text[WRAPPERS_TEXT_BYTES] = "f";
    struct error err = {0};

    ck_assert_int_eq(wrappers_add(text, wrong[_i][0], &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, wrong[_i][1]));
    ck_assert_str_eq(text, "f");
}
END_TEST

START_TEST(lists_have_an_end)
{
    char text[WRAPPERS_TEXT_BYTES] = "", longest[WRAPPERS_TEXT_BYTES + 1];
    struct error err = {0};

    for (int i = 0; i < WRAPPERS_MAX; i++)
        ck_assert_int_eq(wrappers_add(text, "f", &err), 0);
    ck_assert_int_eq(wrappers_add(text, "f", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "at most 32 names"));
    *text = '\0';
    memset(longest, 'x', sizeof(longest));
    longest[WRAPPERS_TEXT_BYTES] = '\0';
    ck_assert_int_eq(wrappers_add(text, longest, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "at most 1023 bytes"));
    longest[WRAPPERS_TEXT_BYTES - 2] = '\0';
    ck_assert_int_eq(wrappers_add(text, longest, &err), 0);
    ck_assert_int_eq(wrappers_add(text, "f", &err), -1);
}
END_TEST

START_TEST(frames_are_counted_to_the_outermost_one)
{
    static const struct frame frames[] = {{"malloc", "", 0},
                                          {"zmalloc_usable", "", 0},
                                          {"between", "", 0},
                                          {"A::get(int)", "", 0},
                                          {"main", "", 0}};
    struct location location = {.frames = frames, .frame_count = 5};
    struct buffer scratch;

    buffer_init(&scratch, 1024);
    ck_assert_uint_eq(wrappers_count(list, &location, &scratch), 4);
    ck_assert_uint_eq(wrappers_count("zmalloc*", &location, &scratch), 2);
    ck_assert_uint_eq(wrappers_count("none", &location, &scratch), 0);
    ck_assert_uint_eq(wrappers_count(NULL, &location, &scratch), 0);
    location.wrapped = 3; /* its own node said so */
    ck_assert_uint_eq(wrappers_count("zmalloc*", &location, &scratch), 3);
    ck_assert_uint_eq(wrappers_count(list, &location, &scratch), 4);
    buffer_fini(&scratch);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("wrappers");
    TCase *tc = tcase_create("wrappers");

    tcase_add_loop_test(tc, names_are_looked_up_as_they_are_shown, 0,
                        sizeof(names) / sizeof(names[0]));
    tcase_add_test(tc, lists_are_read_and_joined);
    tcase_add_loop_test(tc, faults_are_reported, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, lists_have_an_end);
    tcase_add_test(tc, frames_are_counted_to_the_outermost_one);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
