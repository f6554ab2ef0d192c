/* test_bundle_names.c - no name of a function is left in a bundle. */
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "bundle_names.h"
#include "suite.h"

static const unsigned char key[BUNDLE_KEY] = {1}, other[BUNDLE_KEY] = {2};

static struct buffer
hide(const char *json, const unsigned char with[BUNDLE_KEY])
{
    struct buffer out;

    buffer_init(&out, 1 << 16);
    bundle_hash_names(json, strlen(json), with, &out);
    buffer_char(&out, '\0');
    ck_assert(!out.failed);
    return out;
}

START_TEST(names_are_numbers_and_figures_stay)
{
    static const char json[] =
        "{\"title\":\"db main\",\n\"notes\":[\"main grew\",\"or "
        "\\\"main\\\"]\"],\n"
        "\"names\":[\"all\",\"main\",\"(no frames)\",\"main (inline)\",\"\"],\n"
        "\"modules\":[\"\",\"/usr/bin/"
        "main\"],\n\"depth\":[0,1],\"total\":[7,3]}";
    struct buffer out = hide(json, key);
    const char *name = strstr(out.data, "\"f_");

    ck_assert_ptr_null(strstr(out.data, "main"));
    ck_assert_ptr_nonnull(strstr(out.data, "{\"title\":\"\",\n\"notes\":[],\n"
                                           "\"names\":[\"all\",\"f_"));
    ck_assert_ptr_nonnull(strstr(out.data, "\"(no frames)\""));
    ck_assert_ptr_nonnull(
        strstr(out.data, "\n\"depth\":[0,1],\"total\":[7,3]}"));
    /* The same function, inlined. */
    ck_assert_ptr_nonnull(name);
    name = strstr(name + 1, "\"f_");
    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(
        strncmp(name, strstr(out.data, "\"f_"), strlen("\"f_0123456789ab")), 0);
    ck_assert_int_eq(strncmp(name + strlen("\"f_0123456789ab"), " (inline)\"",
                             strlen(" (inline)\"")),
                     0);
    buffer_fini(&out);
}
END_TEST

START_TEST(another_key_gives_other_numbers)
{
    struct buffer one = hide("{\"names\":[\"main\"]}", key);
    struct buffer two = hide("{\"names\":[\"main\"]}", other);

    ck_assert_uint_eq(one.size, two.size);
    ck_assert_str_ne(one.data, two.data);
    buffer_fini(&one);
    buffer_fini(&two);
}
END_TEST

/* Remarks stay: C++ has functions that begin like one. */
START_TEST(a_namespace_without_a_name_is_no_remark)
{
    static const char *const names[] = {
        "(anonymous namespace)::Index::load(int)",
        "(anonymous namespace)::Index::load(int) (inline)",
        "(anonymous class)::Index",
        "[abi:cxx11] Index",
        "(Index",
        "[Index",
        "("};
    static const char *const remarks[] = {"(no frames)", "[vdso]",
                                          "(3 smaller callees)"};
    char text[256];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct buffer out;

        snprintf(text, sizeof(text), "{\"names\":[\"%s\"]}", names[i]);
        out = hide(text, key);
        ck_assert_msg(!strstr(out.data, "Index"), "%s", out.data);
        ck_assert_msg(strstr(out.data, "[\"f_") != NULL, "%s", out.data);
        buffer_fini(&out);
    }
    for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++) {
        struct buffer out;

        snprintf(text, sizeof(text), "{\"names\":[\"%s\"]}", remarks[i]);
        out = hide(text, key);
        ck_assert_str_eq(out.data, text);
        buffer_fini(&out);
    }
}
END_TEST

/* A name that looks like a key ends no list. */
START_TEST(names_that_attack_are_hidden)
{
    struct buffer out =
        hide("{\"names\":[\"a]\\\",\\\"names\\\":[\",\"b\\\\\"],"
             "\"x\":[\"modules\",1]}",
             key);

    ck_assert_ptr_null(strchr(out.data, '\\'));
    ck_assert_ptr_nonnull(strstr(out.data, "],\"x\":[\"modules\",1]}"));
    buffer_fini(&out);
}
END_TEST

START_TEST(what_is_cut_off_is_read_to_its_end)
{
    static const char json[] =
        "{\"title\":\"a\",\"notes\":[\"b\\\"\"],\"names\":"
        "[\"main\\\\\",\"c\"],\"modules\":[\"\"]}";

    for (size_t size = 0; size <= strlen(json); size++) {
        char *cut = strndup(json, size);
        struct buffer out;

        buffer_init(&out, 1 << 16);
        bundle_hash_names(cut, size, key, &out);
        ck_assert(!out.failed);
        buffer_fini(&out);
        free(cut);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("bundle_names");
    TCase *tc = tcase_create("bundle_names");

    tcase_add_test(tc, names_are_numbers_and_figures_stay);
    tcase_add_test(tc, another_key_gives_other_numbers);
    tcase_add_test(tc, a_namespace_without_a_name_is_no_remark);
    tcase_add_test(tc, names_that_attack_are_hidden);
    tcase_add_test(tc, what_is_cut_off_is_read_to_its_end);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
