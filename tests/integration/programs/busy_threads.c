/*
 * busy_threads.c - a program to be sampled.
 *
 *   busy_threads THREADS [dumpable 0|1]
 *
 * Prints what its threads have done so far for each line of its input.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static atomic_ullong turns;

static void *
burn(void *arg)
{
    for (;;) {
        for (volatile unsigned i = 0; i < 10000; i = i + 1)
            ;
        atomic_fetch_add(&turns, 1);
    }
    return arg;
}

int
main(int argc, char **argv)
{
    char line[64];
    pthread_t thread;

    for (int i = 0, n = argc > 1 ? atoi(argv[1]) : 1; i < n; i++) {
        if (pthread_create(&thread, NULL, burn, NULL) != 0)
            return 1;
    }
    if (argc > 3 && strcmp(argv[2], "dumpable") == 0)
        prctl(PR_SET_DUMPABLE, atoi(argv[3]), 0, 0, 0);
    while (fgets(line, sizeof(line), stdin)) {
        printf("%llu\n", (unsigned long long)atomic_load(&turns));
        fflush(stdout);
    }
    return 0;
}
