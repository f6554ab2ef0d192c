/* test_files.c - what an untrusted path may lead to. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "suite.h"

enum { TRIES = 50000 };

/* A process swaps the file and a pipe all the time. */
START_TEST(a_path_that_changes_is_never_a_pipe)
{
    char dir[] = "/tmp/hw-files-XXXXXX", file[64], pipe[64];
    struct stat st;
    pid_t pid;
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/file", dir);
    snprintf(pipe, sizeof(pipe), "%s/pipe", dir);
    fd_close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_eq(file_open_regular(pipe), -1);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (renameat2(AT_FDCWD, file, AT_FDCWD, pipe, RENAME_EXCHANGE) == 0)
            ;
        _exit(1);
    }
    for (int i = 0; i < TRIES; i++) {
        fd = file_open_regular(file);
        if (fd < 0)
            continue;
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert(S_ISREG(st.st_mode));
        fd_close(fd);
    }
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    unlink(file);
    unlink(pipe);
    rmdir(dir);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("files");
    TCase *tc = tcase_create("files");

    tcase_add_test(tc, a_path_that_changes_is_never_a_pipe);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
