/* test_calls.c - the tree of calls as JSON. */
#include "buffer.h"
#include "call_tree.h"
#include "calls.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static struct buffer
calls_of(struct profile *profile)
{
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 32 << 20);
    ck_assert_msg(calls_write(profile, NULL, &out, &err) == 0, "%s", err.text);
    profile_free(profile);
    return out;
}

static void
must_have(const struct buffer *out, const char *text)
{
    ck_assert_msg(strstr(out->data, text) != NULL, "no %s in\n%s", text,
                  out->data);
}

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "load", false, NULL, 0},
                                            {0x3001, "serve", false, NULL, 0},
                                            {0x4001, "main", false, NULL, 0},
                                            {0}};

static const char text[] = "heap_v2/1\n"
                           "@ 0x1000 0x3001 0x4001\n"
                           "t*: 1: 3000 [0: 0]\n"
                           "@ 0x1000 0x2001 0x4001\n"
                           "t*: 1: 1000 [0: 0]\n"
                           "@ 0x1000 0x2001 0x3001 0x4001\n"
                           "t*: 1: 500 [0: 0]\n"
                           "MAPPED_LIBRARIES:\n\n";

START_TEST(callers_come_first_and_equal_names_are_one)
{
    struct buffer out = calls_of(fixture_profile(text, names, NULL));

    must_have(&out, "{\"title\":\"db: 4.4 KB in use\",\n\"notes\":[],\n"
                    "\"measure\":\"in use\",\"unit\":\"bytes\",\"space\":true,"
                    "\"difference\":false,\n"
                    "\"name\":[0,1,2,3,2],\n"
                    "\"names\":[\"all\",\"main\",\"load\",\"serve\"],\n"
                    "\"module\":[0,0,0,0],\n\"modules\":[\"\"],\n"
                    "\"depth\":[0,1,2,2,3],\n"
                    "\"total\":[4500,4500,1000,3500,500],\n"
                    "\"self\":[0,0,1000,3000,500]}\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(equal_modules_are_one)
{
    static const char *const modules[] = {"libc.so", "liba.so", "libc.so",
                                          "liba.so"};
    char copies[4][8];
    struct profile *profile = fixture_profile(text, names, NULL);
    struct location *locations = (struct location *)profile->locations;
    struct buffer out;

    ck_assert_uint_eq(profile->location_count, 4);
    for (size_t i = 0; i < 4; i++) {
        snprintf(copies[i], sizeof(copies[i]), "%s", modules[i]);
        locations[i].module = copies[i];
    }
    out = calls_of(profile);
    must_have(&out, "\"module\":[0,1,1,2],\n"
                    "\"modules\":[\"\",\"liba.so\",\"libc.so\"],\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(a_difference_has_what_changed_and_what_may_be_chance)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct profile_stack *stacks = (struct profile_stack *)profile->stacks;
    struct buffer out;

    fixture_make_signed(profile);
    stacks[0].variance = stacks[2].variance = 0;
    stacks[1].variance = 1000 * 1000;
    out = calls_of(profile);
    must_have(&out, "\"difference\":true");
    must_have(&out, "\"total\":[2500,2500,-1000,3500,500]");
    must_have(&out, "\"changed\":[4500,4500,1000,3500,500]");
    must_have(&out, "\"noise\":[1,1,1,0,0]");
    buffer_fini(&out);
}
END_TEST

START_TEST(an_empty_profile_says_why)
{
    struct buffer out = calls_of(fixture_profile(
        "heap_v2/1\nt*: 0: 0 [0: 0]\nMAPPED_LIBRARIES:\n\n", NULL, NULL));

    must_have(&out, "\"notes\":[\"nothing sampled\"]");
    must_have(&out, "\"names\":[]");
    must_have(&out, "\"depth\":[]");
    buffer_fini(&out);
}
END_TEST

/* What is left out keeps its place and its sum; of equal ones some fit. */
START_TEST(the_smallest_callees_are_one_frame)
{
    struct buffer dump, out;
    unsigned frames = 0;

    buffer_init(&dump, 64 << 20);
    buffer_text(&dump, "heap_v2/1\n@ 0x900000\nt*: 1: 1000000 [0: 0]\n");
    for (unsigned i = 0; i < CALL_ROWS_FRAMES_MAX + 10; i++)
        buffer_format(&dump, "@ 0x%x 0x900001\nt*: 1: %u [0: 0]\n",
                      0x1000000 + i * 16, i < 10 ? 100000 : 1);
    ck_assert(!dump.failed);
    out = calls_of(fixture_profile(dump.data, NULL, NULL));
    ck_assert(strstr(out.data, "\"(12 smaller callees)\""));
    ck_assert(strstr(out.data, "\"total\":[2158203,2158203,19,100000,"));
    for (const char *p = strstr(out.data, "\"depth\":["); *p != ']'; p++)
        frames += *p == ',';
    ck_assert_uint_eq(frames + 1, CALL_ROWS_FRAMES_MAX + 1);
    buffer_fini(&dump);
    buffer_fini(&out);
}
END_TEST

START_TEST(hostile_names_are_text)
{
    static const struct fixture_name hostile[] = {
        {0x1001, "</metadata><script>\"", false, NULL, 0},
        {0x2001, "\"\\\x1b\xff\n\t", false, NULL, 0},
        {0}};
    struct buffer out = calls_of(fixture_profile(
        "heap_v2/1\n@ 0x1001 0x2001\nt*: 1: 1 [0: 0]\n", hostile, NULL));

    must_have(&out, "\"names\":[\"all\",\"\\u0022\\u005c????\","
                    "\"\\u003c/metadata\\u003e\\u003cscript\\u003e\\u0022\"]");
    ck_assert_ptr_null(strpbrk(out.data, "<>&"));
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("calls");
    TCase *tc = tcase_create("calls");

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, callers_come_first_and_equal_names_are_one);
    tcase_add_test(tc, equal_modules_are_one);
    tcase_add_test(tc, a_difference_has_what_changed_and_what_may_be_chance);
    tcase_add_test(tc, an_empty_profile_says_why);
    tcase_add_test(tc, the_smallest_callees_are_one_frame);
    tcase_add_test(tc, hostile_names_are_text);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
