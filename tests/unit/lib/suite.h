/* suite.h - what every unit test shares: main(), and how long work took. */
#ifndef HW_SUITE_H
#define HW_SUITE_H

#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Check sends its runner the place of each assertion that holds, to say after
 * which a test crashed.  A sanitizer tells that itself, and each place costs
 * its memmove, a byte at a time, 8 KB: in a loop most of a test's time.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define _mark_point(file, line) ((void)0)
#endif

#ifndef HW_TEST_THREADS
/* A test that starts a thread is to run under the thread sanitizer, too. */
__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*start)(void *), void *argument)
{
    (void)thread, (void)attributes, (void)start, (void)argument;
    fprintf(stderr, "this test starts a thread: name it among the threaded "
                    "of tests/unit/CMakeLists.txt\n");
    abort();
}
#endif

static inline int
suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Of this thread's own work, in milliseconds: a busy machine adds nothing. */
static inline uint64_t
suite_cpu_ms(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#endif
