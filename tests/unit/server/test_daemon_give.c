/* test_daemon_give.c - what of the state directory goes to another user. */
#include "daemon.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervised.h"
#include "errors.h"
#include "state_dir.h"
#include "suite.h"

/* By the directory's descriptor that is the newest. */
START_TEST(files_are_given_after_the_lock_was_deleted)
{
    bool root = geteuid() == 0, again;
    struct account account = {root ? 65534 : geteuid(),
                              root ? 65534 : getegid()};
    char path[] = "/tmp/hw-daemon-give-XXXXXX", lock[64], deaths[64];
    struct given_files files;
    struct state_dir dir;
    struct error err;
    struct stat st;

    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(lock, sizeof(lock), "%s/heapwired.lock", path);
    snprintf(deaths, sizeof(deaths), "%s/deaths", path);
    ck_assert_int_eq(state_dir_open(&dir, path, &again, &err), 0);
    given_files_note(&files, &dir);
    ck_assert_int_eq(unlink(lock), 0);
    ck_assert_int_eq(state_dir_recheck(&dir, path, &again, &err), 0);
    ck_assert(!again);
    ck_assert_int_ge(close(open(deaths, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)),
                     0);
    ck_assert_int_eq(given_files_give_two(&files, "deaths", "none", &account),
                     0);
    ck_assert_int_eq(stat(deaths, &st), 0);
    ck_assert_uint_eq(st.st_uid, account.uid);
    state_dir_close(&dir);
    unlink(deaths);
    unlink(lock);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("daemon_give");
    Suite *suite = suite_create("daemon_give");

    tcase_add_test(tc, files_are_given_after_the_lock_was_deleted);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
