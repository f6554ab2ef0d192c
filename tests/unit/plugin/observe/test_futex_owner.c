/* test_futex_owner.c - the owner of the mutex that a thread waits for. */
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "futex_owner.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ME = 77, WAITERS = INT32_MIN, DIED = 0x40000000 };

static const struct {
    uint32_t value;
    bool kernel;
    uint32_t words[FUTEX_WORDS]; /* the one before the futex comes first */
    int32_t owner;
} mutexes[] = {
    /* glibc: before, lock, count, owner, users, kind */
    {2, false, {0, 2, 0, ME, 1, 0}, ME},
    {2, false, {0xdead, 2, 0, ME, 1, 3}, ME},
    /* elision; shared; two waits of condition variables */
    {2, false, {0, 2, 0, ME, 1, 0x200}, ME},
    {2, false, {0, 2, 0, ME, 3, 128}, ME},
    /* recursive */
    {2, false, {0, 2, 4, ME, 1, 1}, ME},
    {2, false, {0, 2, 0, ME, 1, 1}, 0},
    /* errorcheck */
    {2, false, {0, 2, 0, ME, 1, 2}, ME},
    /* not recursive, but counted */
    {2, false, {0, 2, 1, ME, 1, 0}, 0},
    /* let go since; nobody's yet; no mutex's kind */
    {2, false, {0, 0, 0, 0, 0, 0}, 0},
    {2, false, {0, 1, 0, ME, 1, 0}, 0},
    {2, false, {0, 2, 0, 0, 0, 0}, 0},
    {2, false, {0, 2, 0, ME, 1, 0x400}, 0},
    /* a condition variable's, a semaphore's word */
    {0, false, {3, 0, 0, 2, 1, 0}, 0},
    {4, false, {3, 2, 0, ME, 1, 0}, 0},
    /* robust: the lock has the owner, too, and each type counts */
    {WAITERS | ME, false, {0, (uint32_t)WAITERS | ME, 1, ME, 1, 16 | 128}, ME},
    {WAITERS | ME, false, {0, (uint32_t)WAITERS | ME, 1, ME, 1, 17 | 128}, ME},
    {WAITERS | ME, false, {0, (uint32_t)WAITERS | ME, 0, ME, 1, 16 | 128}, 0},
    {WAITERS | ME, false, {0, (uint32_t)WAITERS | ME, 1, 78, 1, 16 | 128}, 0},
    /* priority inheritance: whoever's it is, the kernel's word counts */
    {0, true, {0, (uint32_t)WAITERS | ME, 0, 0, 0, 32}, ME},
    {0, true, {0, DIED | ME, 9, 9, 9, 9}, ME},
    /* musl: type, lock, waiters: recursive, errorcheck, robust; normal */
    {WAITERS | ME, false, {1, (uint32_t)WAITERS | ME, 1, 0, 0, 0}, ME},
    {WAITERS | ME, false, {2 | 128, (uint32_t)WAITERS | ME, 2, 0, 0, 0}, ME},
    {WAITERS | ME, false, {4, (uint32_t)WAITERS | ME, 1, 0, 0, 0}, ME},
    {WAITERS | 16, false, {0, (uint32_t)WAITERS | 16, 1, 0, 0, 0}, 0},
    /* another's; let go since; no type; nobody waits */
    {WAITERS | ME, false, {1, (uint32_t)WAITERS | 78, 1, 0, 0, 0}, 0},
    {WAITERS | ME, false, {1, 0, 1, 0, 0, 0}, 0},
    {WAITERS | ME, false, {300, (uint32_t)WAITERS | ME, 1, 0, 0, 0}, 0},
    {WAITERS | ME, false, {1, (uint32_t)WAITERS | ME, 0, 0, 0, 0}, 0},
    /* MariaDB's own lock: held, and one waits */
    {0x80000001, false, {0, 0x80000001, 0, 0, 0, 0}, 0},
};

START_TEST(a_mutex_tells_its_owner_and_nothing_else_does)
{
    struct futex_wait wait = {.value = mutexes[_i].value,
                              .kernel_knows_it = mutexes[_i].kernel};

    ck_assert_int_eq(futex_owner(&wait, mutexes[_i].words), mutexes[_i].owner);
}
END_TEST

static const struct {
    bool plain, sure;
    uint32_t words[FUTEX_WORDS]; /* up to the kind, spins, and two pointers */
} holders[] = {
    {true, true, {0, 2, 0, ME, 1, 0, 0, 0}},
    {true, true, {0, 2, 0, ME, 3, 3, 100, 0}},
    /* a limit of time, or another call; too many users; no tid */
    {false, false, {0, 2, 0, ME, 1, 0, 0, 0}},
    {true, false, {0, 2, 0, ME, 4, 0, 0, 0}},
    {true, false, {0, 2, 0, 1 << 22, 1, 0, 0, 0}},
    /* what follows is no mutex's */
    {true, false, {0, 2, 0, ME, 1, 0, 0, 7}},
    {true, false, {0, 2, 0, ME, 1, 0, 0, 0, 0, 0, 7}},
};

START_TEST(a_mutex_of_a_thread_that_ended_is_told_from_other_words)
{
    struct futex_wait wait = {.value = 2, .plain = holders[_i].plain};

    ck_assert_int_eq(futex_owner_is_sure(&wait, holders[_i].words, 3),
                     holders[_i].sure);
}
END_TEST

START_TEST(the_layout_is_this_c_librarys)
{
#ifdef __GLIBC__
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct futex_wait wait = {.value = 2};
    uint32_t words[FUTEX_WORDS] = {0};

    pthread_mutex_lock(&mutex);
    memcpy(&words[FUTEX_WORD], &mutex, 5 * sizeof(words[0]));
    ck_assert_uint_eq(words[FUTEX_WORD], 1);
    ck_assert_int_eq(futex_owner(&wait, words), 0); /* nobody waits */
    words[FUTEX_WORD] = 2;
    ck_assert_int_eq(futex_owner(&wait, words), (int32_t)syscall(SYS_gettid));
    pthread_mutex_unlock(&mutex);
    memcpy(&words[FUTEX_WORD], &mutex, 5 * sizeof(words[0]));
    ck_assert_int_eq(futex_owner(&wait, words), 0);
#endif
}
END_TEST

/* Behind the call's number; NULL for it: the text is whole. */
static const struct {
    bool whole, waits;
    const char *text;
    uint64_t address;
    uint32_t value;
    bool timed, kernel, plain;
} calls[] = {
    {false, true, "0x7f0d8a4e6e58 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f0d",
     0x7f0d8a4e6e58, 2, false, false, true},
    {false, true, "0x1000 0x189 0x0 0x7ffd00 0x0 0xffffffff 0x7ffd10 0x7f0d",
     0x1000, 0, true, false},
    {false, true, "0x1000 0x0 0x80000005 0x0 0x0 0x0 0x1 0x2", 0x1000,
     0x80000005, false, false, true},
    {false, true, "0x1000 0x80 0x2 0x7ffd00 0x0 0x0 0x1 0x2", 0x1000, 2, true,
     false, false},
    {false, true, "0x1000 0x86 0x0 0x0 0x0 0x0 0x1 0x2", 0x1000, 0, false,
     true},
    {false, true, "0x1000 0x8d 0x0 0x0 0x0 0x0 0x1 0x2", 0x1000, 0, false,
     true},
    /* wakes */
    {false, false, "0x1000 0x81 0x1 0x0 0x0 0x0 0x1 0x2"},
    {true, false, "running\n"},
    {true, false, "-1 0x7ffd10 0x7f0d\n"},
    {true, false, "0 0x3 0x7ffd10 0x400 0x0 0x0 0x0 0x1 0x2\n"},
    {true, false, ""},
    {false, false, "0x1000 0x80"},
};

START_TEST(a_wait_is_read_from_the_system_call)
{
    struct futex_wait wait = {0};
    char text[128];

    if (calls[_i].whole)
        snprintf(text, sizeof(text), "%s", calls[_i].text);
    else
        snprintf(text, sizeof(text), "%d %s\n", (int)SYS_futex, calls[_i].text);
    ck_assert_int_eq(futex_wait_parse(text, &wait), calls[_i].waits);
    if (!calls[_i].waits)
        return;
    ck_assert_uint_eq(wait.address, calls[_i].address);
    ck_assert_uint_eq(wait.value, calls[_i].value);
    ck_assert_int_eq(wait.timed, calls[_i].timed);
    ck_assert_int_eq(wait.kernel_knows_it, calls[_i].kernel);
    ck_assert_int_eq(wait.plain, calls[_i].plain);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("futex_owner");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, a_mutex_tells_its_owner_and_nothing_else_does, 0,
                        COUNT(mutexes));
    tcase_add_loop_test(tcase,
                        a_mutex_of_a_thread_that_ended_is_told_from_other_words,
                        0, COUNT(holders));
    tcase_add_test(tcase, the_layout_is_this_c_librarys);
    tcase_add_loop_test(tcase, a_wait_is_read_from_the_system_call, 0,
                        COUNT(calls));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
