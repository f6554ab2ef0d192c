/*
 * malloc_cost.c - nanoseconds a malloc and free, for recorder.sh: which see.
 *
 * Allocates and frees in turn, at a depth of calls, so many blocks of each
 * size, and prints the least of several turns, by the thread's CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HELD = 64, TURNS = 15, PAIRS = 1000000 };

static void *held[HELD];

static double
cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* No tail call: each level is a frame. */
static __attribute__((noinline)) int
descend(int depth, size_t size, int pairs) /* NOLINT(misc-no-recursion) */
{
    int below;

    if (depth == 0) {
        for (int i = 0; i < pairs; i++) {
            free(held[i % HELD]);
            held[i % HELD] = malloc(size);
        }
        return 0;
    }
    below = descend(depth - 1, size, pairs);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

int
main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 5;

    for (int i = 2; i < argc; i++) {
        size_t size = strtoul(argv[i], NULL, 10);
        double least = 1e18;

        for (int t = 0; t < TURNS; t++) {
            double began = cpu_ns(), took;

            descend(depth, size, PAIRS);
            took = (cpu_ns() - began) / PAIRS;
            least = took < least ? took : least;
        }
        printf(" %7.1f", least);
    }
    printf("\n");
    return 0;
}
