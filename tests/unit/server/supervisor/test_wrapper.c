/* test_wrapper.c - the program that a command executes in the end. */
#include "wrapper.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

/* Words between blanks; what stands between bars is one word. */
static const struct {
    const char *command, *name, *root;
} cases[] = {
    {"redis-server --port 1", "", ""},
    {"redis-server gosu redis mysqld", "", ""},
    {"setpriv --reuid redis --regid redis --clear-groups redis-server --port 1",
     "redis-server", ""},
    {"/usr/bin/setpriv --reuid=redis --init-groups -- redis-server",
     "redis-server", ""},
    {"setpriv", "", ""},
    {"setpriv --reuid", "", ""},
    {"gosu mysql mysqld --user=mysql", "mysqld", ""},
    {"gosu mysql", "", ""},
    {"numactl --interleave=all -C 0,1 mariadbd", "mariadbd", ""},
    {"numactl -i all mariadbd", "mariadbd", ""},
    {"numactl -iall mariadbd", "mariadbd", ""},
    {"runuser -u redis -- redis-server -", "redis-server", ""},
    {"runuser --user=redis redis-server", "redis-server", ""},
    {"runuser redis -s /bin/sh -c |redis-server --port 1|", "redis-server", ""},
    {"su - redis -s /bin/sh --command |exec redis-server|", "redis-server", ""},
    {"su redis", "", ""},
    {"chroot /srv /usr/bin/redis-server", "/srv/usr/bin/redis-server", "/srv"},
    {"chroot --userspec=redis /srv redis-server", "", "/srv"},
    {"chroot / redis-server", "redis-server", ""},
    {"env", "", ""},
    {"env -i A=1 B=2 redis-server C=3", "redis-server", ""},
    {"env -u A nice -n 5 taskset -c 0 gosu redis redis-server", "redis-server",
     ""},
    {"nice -5 redis-server", "redis-server", ""},
    {"setarch x86_64 -R redis-server", "redis-server", ""},
    {"timeout -k 1 20 redis-server", "redis-server", ""},
    {"docker-entrypoint.sh redis-server --port 1", "redis-server", ""},
    {"sh -c |exec redis-server --port 1|", "redis-server", ""},
    {"sh -ec |ulimit -n 99; A=1 exec redis-server $X| arg", "redis-server", ""},
    {"bash -c |A=1 redis-server|", "redis-server", ""},
    {"sh -c |exec \"$@\"| sh redis-server", "", ""},
    {"sh -c |redis-server; exit|", "", ""},
    {"sh -c |exec 3>log; exec redis-server|", "", ""},
    {"sh -c |executive|", "executive", ""},
    {"sh -c ||", "", ""},
    {"sh -c", "", ""},
    {"sh script redis-server", "", ""},
    {"env env env env env env env env env env redis-server", "", ""},
};

static struct wrapped
read_words(const char *command)
{
    char text[256], *words[32];
    struct wrapped wrapped;
    size_t count = 0;

    snprintf(text, sizeof(text), "%s", command);
    for (char *at = text; *at;) {
        char end = *at == '|' ? '|' : ' ';

        at += end == '|';
        words[count++] = at;
        at += strcspn(at, end == '|' ? "|" : " ");
        if (*at)
            *at++ = '\0';
        at += strspn(at, " ");
    }
    words[count] = NULL;
    wrapper_read(&wrapped, words);
    return wrapped;
}

START_TEST(what_a_command_executes_is_told)
{
    struct wrapped wrapped = read_words(cases[_i].command);

    ck_assert_msg(strcmp(wrapped.name, cases[_i].name) == 0, "%s: '%s'",
                  cases[_i].command, wrapped.name);
    ck_assert_str_eq(wrapped.root, cases[_i].root);
}
END_TEST

START_TEST(whether_the_user_may_change_is_told)
{
    ck_assert(!read_words("redis-server gosu redis").other_user);
    ck_assert(!read_words("env nice redis-server").other_user);
    ck_assert(read_words("nice /usr/bin/setpriv --reuid 7 sh x").other_user);
    ck_assert(read_words("docker-entrypoint.sh redis-server").other_user);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("wrapper");
    TCase *tcase = tcase_create("wrapper");

    tcase_add_loop_test(tcase, what_a_command_executes_is_told, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tcase, whether_the_user_may_change_is_told);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
