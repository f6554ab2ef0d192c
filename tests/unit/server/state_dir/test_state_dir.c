/* test_state_dir.c - which ways to a state directory are safe. */
#include "state_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "suite.h"

enum { OTHER_UID = 65534 };

#define TEMPLATE "/tmp/hw-state-dir-XXXXXX"

static char top[sizeof(TEMPLATE)]; /* sticky, as /tmp */
static struct error err;

static const char *
below(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", top, name);
    return path;
}

static void
set_up(void)
{
    memcpy(top, TEMPLATE, sizeof(TEMPLATE));
    ck_assert_ptr_nonnull(mkdtemp(top));
    ck_assert_int_eq(chmod(top, 01777), 0);
}

static void
tear_down(void)
{
    char command[PATH_MAX];

    snprintf(command, sizeof(command), "rm -rf '%s'", top);
    ck_assert_int_eq(system(command), 0); /* NOLINT: one thread */
}

static void
directory(const char *name, mode_t mode, uid_t owner)
{
    const char *path = below(name);

    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
    ck_assert_int_eq(chown(path, owner, (gid_t)-1), 0);
}

static void
link_to(const char *name, const char *target, uid_t owner)
{
    ck_assert_int_eq(symlink(target, below(name)), 0);
    ck_assert_int_eq(lchown(below(name), owner, (gid_t)-1), 0);
}

static bool
is_there(const char *name)
{
    struct stat st;

    return lstat(below(name), &st) == 0;
}

static int
try_hold(const char *path)
{
    int hold, rc = state_dir_lock(path, &hold, &err);

    fd_close(hold);
    return rc;
}

/* Both the look and the deed refuse it, with that sentence. */
static void
refused(const char *name, const char *why)
{
    struct state_dir dir = {-1, -1, 0};
    bool busy;

    ck_assert_int_eq(state_dir_check(below(name), &err), -1);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_int_eq(try_hold(below(name)), -1);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_int_eq(state_dir_open(&dir, below(name), &busy, &err), -1);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert(!state_dir_can_be_given(below(name)));
}

static void
allowed(const char *name)
{
    struct state_dir dir = {-1, -1, 0};
    bool busy;

    ck_assert_msg(state_dir_check(below(name), &err) == 0, "%s", err.text);
    ck_assert_msg(try_hold(below(name)) == 0, "%s", err.text);
    ck_assert_msg(state_dir_open(&dir, below(name), &busy, &err) == 0, "%s",
                  err.text);
    state_dir_close(&dir);
}

START_TEST(what_is_missing_is_made)
{
    struct stat st;

    allowed("a/b/10001");
    ck_assert_int_eq(stat(below("a/b"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, geteuid() == 0 ? 0755 : 0700);
    ck_assert_int_eq(stat(below("a/b/10001"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(state_dir_can_be_given(below("a/b/10001")),
                     geteuid() == 0);
    ck_assert(!state_dir_can_be_given(below("10001"))); /* others make names */
    allowed("a//b/./c/");
    ck_assert(is_there("a/b/c"));
}
END_TEST

START_TEST(one_heapwire_run_holds_it)
{
    int first, second;

    ck_assert_int_eq(state_dir_lock(below("a"), &first, &err), 0);
    ck_assert_int_gt(first, STDERR_FILENO);
    ck_assert_int_eq(state_dir_lock(below("a"), &second, &err), -1);
    ck_assert_int_eq(second, -1);
    ck_assert_ptr_nonnull(strstr(err.text, "another heapwire-run"));
    ck_assert_int_eq(try_hold(below("b")), 0);
    ck_assert_int_eq(flock(first, LOCK_UN), 0); /* as when it lingers */
    ck_assert_int_eq(state_dir_lock(below("a"), &second, &err), 0);
    fd_close(second);
    fd_close(first);
}
END_TEST

START_TEST(a_look_makes_nothing)
{
    ck_assert_int_eq(state_dir_check(below("a/b"), &err), 0);
    ck_assert(!is_there("a"));
}
END_TEST

START_TEST(another_users_link_is_refused)
{
    directory("his", 0755, OTHER_UID);
    link_to("heapwire", "his", OTHER_UID);
    refused("heapwire/10001", "is a symbolic link of uid 65534");
    ck_assert(!is_there("his/10001"));
    directory("ours", 0755, geteuid());
    link_to("onward", "ours", OTHER_UID);
    link_to("first", "onward", geteuid());
    refused("first/10001", "is a symbolic link of uid 65534");
    refused("first/a/10001", "is a symbolic link of uid 65534");
    ck_assert(!is_there("ours/10001"));
}
END_TEST

START_TEST(our_own_link_is_followed)
{
    directory("real", 0755, geteuid());
    directory("real/deep", 0755, geteuid());
    link_to("relative", "real/deep/", geteuid());
    link_to("full", below("real"), geteuid());
    link_to("full2", below("full/../relative/.."), geteuid());
    allowed("relative/1");
    ck_assert(is_there("real/deep/1"));
    allowed("full/2/3");
    ck_assert(is_there("real/2/3"));
    allowed("full2/4");
    ck_assert(is_there("real/4"));
    link_to("last", "real", geteuid());
    ck_assert_int_eq(state_dir_check(below("last"), &err), -1);
    ck_assert_int_eq(try_hold(below("last")), -1);
}
END_TEST

START_TEST(links_have_an_end)
{
    link_to("circle", "circle", geteuid());
    refused("circle/1", "Too many levels of symbolic links");
}
END_TEST

START_TEST(every_directory_on_the_way_counts)
{
    directory("his", 0755, OTHER_UID);
    directory("his/ours", 0755, geteuid());
    refused("his/ours/1", "others can write to");
    refused("his/ours/a/1", "others can write to");
    ck_assert(!is_there("his/ours/a"));
    directory("open", 0777, geteuid());
    directory("open/ours", 0755, geteuid());
    refused("open/ours/1", "others can write to");
    directory("sticky", 01777, geteuid());
    directory("sticky/ours", 0755, geteuid());
    allowed("sticky/ours/1");
    directory("group", 0775, geteuid()); /* our group */
    allowed("group/1");
}
END_TEST

START_TEST(a_file_is_no_way)
{
    FILE *file = fopen(below("file"), "we");

    ck_assert_ptr_nonnull(file);
    fclose(file);
    refused("file/1", "Not a directory");
    ck_assert_int_eq(state_dir_check(below("file"), &err), -1);
}
END_TEST

/* ---- a directory that is deleted while it is served ---- */

static void
deleted(const char *name)
{
    char command[PATH_MAX];

    snprintf(command, sizeof(command), "rm -rf '%s'", below(name));
    ck_assert_int_eq(system(command), 0); /* NOLINT: one thread */
}

static void
opened(struct state_dir *dir, const char *name)
{
    bool busy;

    ck_assert_msg(state_dir_open(dir, below(name), &busy, &err) == 0, "%s",
                  err.text);
}

static void
ck_looks(struct state_dir *dir, const char *name, bool anew)
{
    bool replaced;

    ck_assert_msg(state_dir_recheck(dir, below(name), &replaced, &err) == 0,
                  "%s", err.text);
    ck_assert_int_eq(replaced, anew);
    ck_assert(state_dir_is_served(below(name)));
}

START_TEST(what_is_deleted_is_made_and_locked_again)
{
    struct state_dir dir;
    struct stat st;

    opened(&dir, "a/b");
    ck_looks(&dir, "a/b", false);
    ck_assert_int_eq(unlink(below("a/b/heapwired.lock")), 0);
    ck_looks(&dir, "a/b", false);
    deleted("a/b");
    ck_looks(&dir, "a/b", true);
    ck_looks(&dir, "a/b", false);
    deleted("a");
    ck_looks(&dir, "a/b", true);
    ck_assert_int_eq(stat(below("a/b"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    state_dir_close(&dir);
}
END_TEST

/* Whose lock is the first: the other one may not serve there. */
START_TEST(of_two_that_make_it_one_has_it)
{
    struct state_dir dir, other;
    bool replaced;

    opened(&dir, "a");
    deleted("a");
    opened(&other, "a");
    ck_assert_int_eq(state_dir_recheck(&dir, below("a"), &replaced, &err), -1);
    ck_assert_msg(strstr(err.text, "another heapwired serves") != NULL, "%s",
                  err.text);
    ck_looks(&other, "a", false);
    state_dir_close(&other);
    ck_looks(&dir, "a", true); /* it is free */
    state_dir_close(&dir);
}
END_TEST

/* What came in its place is refused as at the start. */
static void
not_taken(const char *name, const char *why)
{
    struct state_dir dir;
    struct stat before, after;
    bool replaced;

    opened(&dir, "mine");
    ck_assert_int_eq(fstat(dir.fd, &before), 0);
    deleted("mine");
    ck_assert_int_eq(rename(below(name), below("mine")), 0);
    ck_assert_int_eq(state_dir_recheck(&dir, below("mine"), &replaced, &err),
                     -1);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_int_eq(fstat(dir.fd, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    ck_assert(!is_there("mine/heapwired.lock"));
    state_dir_close(&dir);
    deleted("mine");
}

START_TEST(what_comes_in_its_place_is_checked)
{
    directory("open", 0755, geteuid());
    not_taken("open", "is open to others");
    directory("target", 0700, geteuid());
    link_to("link", "target", geteuid());
    not_taken("link", "cannot open the state directory");
    ck_assert(!is_there("target/heapwired.lock"));
}
END_TEST

START_TEST(another_users_dir_is_not_taken)
{
    directory("his", 0700, OTHER_UID);
    not_taken("his", "belongs to uid 65534");
}
END_TEST

START_TEST(root_makes_it_for_another)
{
    struct stat st;

    directory("roots", 0755, 0);
    ck_assert_int_eq(state_dir_make_for(below("roots/a"), OTHER_UID, &err), 0);
    ck_assert_int_eq(stat(below("roots/a"), &st), 0);
    ck_assert_uint_eq(st.st_uid, OTHER_UID);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    link_to("roots/link", "a", 0);
    ck_assert_int_eq(state_dir_make_for(below("roots/link"), OTHER_UID, &err),
                     -1);
}
END_TEST

int
main(void)
{
    TCase *any = tcase_create("any user"), *root = tcase_create("root");
    Suite *suite = suite_create("state_dir");

    tcase_add_checked_fixture(any, set_up, tear_down);
    tcase_add_test(any, what_is_missing_is_made);
    tcase_add_test(any, one_heapwire_run_holds_it);
    tcase_add_test(any, a_look_makes_nothing);
    tcase_add_test(any, our_own_link_is_followed);
    tcase_add_test(any, links_have_an_end);
    tcase_add_test(any, a_file_is_no_way);
    tcase_add_test(any, what_is_deleted_is_made_and_locked_again);
    tcase_add_test(any, of_two_that_make_it_one_has_it);
    tcase_add_test(any, what_comes_in_its_place_is_checked);
    tcase_add_checked_fixture(root, set_up, tear_down);
    tcase_add_test(root, another_users_link_is_refused);
    tcase_add_test(root, every_directory_on_the_way_counts);
    tcase_add_test(root, another_users_dir_is_not_taken);
    tcase_add_test(root, root_makes_it_for_another);
    suite_add_tcase(suite, any);
    if (geteuid() == 0)
        suite_add_tcase(suite, root);
    return suite_run(suite);
}
