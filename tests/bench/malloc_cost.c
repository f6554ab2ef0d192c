/*
 * malloc_cost.c - nanoseconds a malloc and free, for recorder.sh: which see.
 *
 * malloc_cost DEPTH HELD SIZE...
 *
 * Replaces one of HELD blocks, drawn at random, again and again, at a depth of
 * calls.  For each size it prints the least of several turns, by the thread's
 * CPU time.  Few held blocks stay in the processor's first cache with all that
 * the allocator knows of them; many are a database's heap.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HELD_MAX = 1 << 20, TURNS = 15, PAIRS = 1000000 };

static void *held[HELD_MAX];
static uint64_t held_count, draws = 88172645463325252;

static double
cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* xorshift64 */
static uint64_t
draw_held(void)
{
    draws ^= draws << 13;
    draws ^= draws >> 7;
    draws ^= draws << 17;
    return (draws >> 32) * held_count >> 32;
}

/* No tail call: each level is a frame. */
static __attribute__((noinline)) int
descend(int depth, size_t size, int pairs) /* NOLINT(misc-no-recursion) */
{
    int below;

    if (depth == 0) {
        for (int i = 0; i < pairs; i++) {
            void **block = &held[draw_held()];

            free(*block);
            *block = malloc(size);
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

    held_count = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
    if (held_count == 0 || held_count > HELD_MAX)
        return 2;
    for (int i = 3; i < argc; i++) {
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
