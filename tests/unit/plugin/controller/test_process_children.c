/* test_process_children.c - which children count, and what they hold. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stats_take.h"
#include "suite.h"

enum { HELD = 8 << 20 };

/* Once it holds so much, it says so on ready, and stays. */
static pid_t
start(const char *program, int ready)
{
    pid_t pid = fork();
    char *block;

    if (pid != 0)
        return pid;
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

START_TEST(forked_ones_count_and_others_do_not)
{
    struct process_children seen;
    int ready[2], input[2];
    pid_t pids[3];
    char byte;

    ck_assert(pipe(ready) == 0 && pipe(input) == 0);
    dup2(input[0], STDIN_FILENO); /* that the shell waits at */
    process_children_read(getpid(), &seen);
    ck_assert_uint_eq(seen.count, 0);
    for (int i = 0; i < 3; i++) {
        pids[i] = start(i == 2 ? "sh" : NULL, ready[1]);
        ck_assert(read(ready[0], &byte, 1) == 1);
    }
    process_children_read(getpid(), &seen);
    ck_assert_uint_eq(seen.count, 2);
    ck_assert_uint_ge(seen.bytes, 2 * HELD);
    ck_assert_uint_lt(seen.bytes, 16 * (uint64_t)HELD);
    for (int i = 0; i < 3; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    process_children_read(getpid(), &seen);
    ck_assert(seen.count == 0 && seen.bytes == 0);
}
END_TEST

START_TEST(a_process_that_is_not_there_has_none)
{
    struct process_children seen = {.count = 1, .bytes = 1};

    process_children_read(0x3ffffff, &seen); /* above any pid */
    ck_assert(seen.count == 0 && seen.bytes == 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("process_children");
    TCase *tc = tcase_create("process_children");

    tcase_add_test(tc, forked_ones_count_and_others_do_not);
    tcase_add_test(tc, a_process_that_is_not_there_has_none);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
