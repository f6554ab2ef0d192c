/* test_account_file.c - what heapwire-passwd makes of a file. */
#include <string.h>

#include "account_file.h"
#include "buffer.h"
#include "errors.h"
#include "suite.h"

#define ZERO64                                                                 \
    "0000000000000000000000000000000000000000000000000000000000000000"

static struct buffer out;

static int
change(const char *text, const char *privileges, bool replace,
       struct error *err)
{
    struct account_change c = {
        .name = "ann", .privileges = privileges, .replace = replace};

    buffer_init(&out, 4096);
    return account_file_change((struct span){text, strlen(text)}, &c, &out,
                               err);
}

static const struct {
    const char *before, *privileges;
    bool replace;
    const char *after;
} changes[] = {
    {"", NULL, false,
     "[user ann]\nauth = sha2 " ZERO64
     "\nprivileges = status, profile, control\n"},
    {"[node]\nid = 1", "admin", false,
     "[node]\nid = 1\n\n[user ann]\nauth = sha2 " ZERO64
     "\nprivileges = admin\n"},
    {"# top\n[user ann]\n; why\n auth = old\nprivileges = status\n\n[user bob]"
     "\nauth = his\n",
     NULL, true,
     "# top\n[user ann]\n; why\nauth = sha2 " ZERO64
     "\nprivileges = status\n\n[user bob]\nauth = his\n"},
    {"[user  ann]\nauth: old\nprivileges = status\n", "admin", true,
     "[user  ann]\nauth = sha2 " ZERO64 "\nprivileges = admin\n"},
    {"[user anna]\nauth = x\n", "admin", false,
     "[user anna]\nauth = x\n\n[user ann]\nauth = sha2 " ZERO64
     "\nprivileges = admin\n"},
};

START_TEST(only_the_account_changes)
{
    struct error err;

    ck_assert_int_eq(change(changes[_i].before, changes[_i].privileges,
                            changes[_i].replace, &err),
                     0);
    ck_assert_str_eq(out.data, changes[_i].after);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_duplicate_is_refused)
{
    struct error err;

    ck_assert_int_eq(change("[user ann]\nauth = x\n", NULL, false, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--replace"));
    buffer_fini(&out);
}
END_TEST

START_TEST(a_user_that_is_not_there_is_not_replaced)
{
    struct error err;

    ck_assert_int_eq(change("[user anna]\nauth = x\n", NULL, true, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no user 'ann' to replace"));
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("account_file");
    TCase *tc = tcase_create("account_file");

    tcase_add_loop_test(tc, only_the_account_changes, 0,
                        sizeof(changes) / sizeof(changes[0]));
    tcase_add_test(tc, a_duplicate_is_refused);
    tcase_add_test(tc, a_user_that_is_not_there_is_not_replaced);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
