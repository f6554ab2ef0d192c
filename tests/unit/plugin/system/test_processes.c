/* test_processes.c - which children count, and what they hold. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"
#include "suite.h"

enum { HELD = 8 << 20, NOBODY = 65534 };

/* Once it holds so much, it says so on ready, and stays. */
static pid_t
start(const char *program, int ready)
{
    pid_t pid = fork();
    char *block;

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (program) {
        dup2(ready, STDOUT_FILENO);
        execlp(program, program, "-c", "echo; read x", (char *)NULL);
        _exit(1);
    }
    block = mmap(NULL, HELD, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        _exit(1);
    memset(block, 1, HELD);
    if (write(ready, "\n", 1) != 1)
        _exit(1);
    pause();
    _exit(0);
}

static void
end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

START_TEST(forked_ones_count_and_others_do_not)
{
    struct processes seen;
    int ready[2], input[2];
    pid_t pids[3];
    char byte;

    ck_assert(pipe(ready) == 0 && pipe(input) == 0);
    dup2(input[0], STDIN_FILENO); /* that the shell waits at */
    ck_assert(processes_read(getpid(), &seen));
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_int_eq(seen.list[0].pid, getpid());
    for (int i = 0; i < 3; i++) {
        pids[i] = start(i == 2 ? "sh" : NULL, ready[1]);
        ck_assert(read(ready[0], &byte, 1) == 1);
    }
    ck_assert(processes_read(getpid(), &seen));
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_ge(seen.bytes, 2 * (uint64_t)HELD);
    ck_assert_uint_lt(seen.bytes, 16 * (uint64_t)HELD);
    for (size_t i = 0; i < seen.count; i++)
        ck_assert(processes_has(&seen, i));
    for (int i = 0; i < 3; i++)
        end(pids[i]);
    ck_assert(!processes_has(&seen, 1));
    ck_assert(processes_read(getpid(), &seen));
    ck_assert(seen.count == 1 && seen.bytes == 0);
}
END_TEST

START_TEST(a_number_that_another_has_is_not_that_process)
{
    struct processes seen;

    ck_assert(processes_read(getpid(), &seen));
    ck_assert(processes_has(&seen, 0));
    seen.list[0].start_ticks--;
    ck_assert(!processes_has(&seen, 0));
}
END_TEST

START_TEST(one_that_executes_another_program_is_none_any_more)
{
    struct processes seen;
    int ready[2], input[2];
    pid_t pid;
    char byte;

    ck_assert(pipe(ready) == 0 && pipe(input) == 0);
    dup2(input[0], STDIN_FILENO);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ready[1], STDOUT_FILENO);
        if (write(STDOUT_FILENO, "\n", 1) == 1 && read(input[0], &byte, 1) == 1)
            execlp("sh", "sh", "-c", "echo; read x", (char *)NULL);
        _exit(1);
    }
    ck_assert(read(ready[0], &byte, 1) == 1);
    ck_assert(processes_read(getpid(), &seen));
    ck_assert_uint_eq(seen.count, 2);
    ck_assert(processes_has(&seen, 1));
    ck_assert(write(input[1], "\n", 1) == 1);
    ck_assert(read(ready[0], &byte, 1) == 1);
    ck_assert(!processes_has(&seen, 1));
    end(pid);
}
END_TEST

/* As a database that gave up root: its children are closed to its own user. */
START_TEST(those_that_may_not_be_looked_at_are_counted)
{
    struct processes seen;
    int ready[2];
    pid_t pid;
    char byte;

    if (geteuid() != 0)
        return;
    ck_assert(pipe(ready) == 0);
    ck_assert(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    prctl(PR_SET_DUMPABLE, 1);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        _exit(write(ready[1], "\n", 1) == 1 ? pause() : 1);
    }
    ck_assert(read(ready[0], &byte, 1) == 1);
    ck_assert(processes_read(getpid(), &seen));
    ck_assert_uint_eq(seen.closed, 1);
    ck_assert_uint_eq(seen.count, 1);
    end(pid);
}
END_TEST

START_TEST(a_process_that_is_not_there_has_none)
{
    struct processes seen = {.count = 1, .bytes = 1};

    ck_assert(!processes_read(0x3ffffff, &seen)); /* above any pid */
    ck_assert(seen.count == 0 && seen.bytes == 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("processes");
    TCase *tc = tcase_create("processes");

    tcase_add_test(tc, forked_ones_count_and_others_do_not);
    tcase_add_test(tc, a_number_that_another_has_is_not_that_process);
    tcase_add_test(tc, one_that_executes_another_program_is_none_any_more);
    tcase_add_test(tc, those_that_may_not_be_looked_at_are_counted);
    tcase_add_test(tc, a_process_that_is_not_there_has_none);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
