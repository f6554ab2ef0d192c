/*
 * sample_cost.c - what one sample of jemalloc's profiler costs the thread that
 * is sampled: overhead_limit.c has the figure that this prints.
 *
 * LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,prof_active:false \
 *     build/release/bin/sample_cost
 *
 * Allocates and frees the same bytes at stacks of several depths, with
 * profiling off and on, in turn; the difference of the CPU times, by the number
 * of samples that so many bytes give.  Takes the median of many turns.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    BLOCK_BYTES = 512,
    LG_SAMPLE = 14,
    BLOCKS = 400000, /* a turn: 12,500 samples */
    HELD = 256,
    TURNS = 15
};

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);

static void *held[HELD];

static double
cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* No tail call: each level is a frame. */
static __attribute__((noinline)) int
descend(int depth) /* NOLINT(misc-no-recursion) */
{
    int below;

    if (depth == 0) {
        for (int i = 0; i < BLOCKS; i++) {
            free(held[i % HELD]);
            held[i % HELD] = malloc(BLOCK_BYTES);
        }
        return 0;
    }
    below = descend(depth - 1);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
turn(mallctl_fn *mallctl, bool active, int depth)
{
    double began;

    mallctl("prof.active", NULL, NULL, &active, sizeof(active));
    began = cpu_seconds();
    descend(depth);
    return cpu_seconds() - began;
}

int
main(void)
{
    static const int depths[] = {4, 16, 32, 64, 120};
    mallctl_fn *mallctl = (mallctl_fn *)dlsym(RTLD_DEFAULT, "mallctl");
    double samples = (double)BLOCKS * BLOCK_BYTES / (1 << LG_SAMPLE);
    size_t lg = LG_SAMPLE;

    if (!mallctl || mallctl("prof.reset", NULL, NULL, &lg, sizeof(lg)) != 0) {
        fprintf(stderr, "preload a jemalloc, with prof:true\n");
        return 1;
    }
    for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
        double costs[TURNS];

        turn(mallctl, true, depths[d]); /* the unwinder's tables are read */
        for (int i = 0; i < TURNS; i++) {
            double off = turn(mallctl, false, depths[d]);

            costs[i] = (turn(mallctl, true, depths[d]) - off) / samples;
        }
        qsort(costs, TURNS, sizeof(costs[0]), by_value);
        printf("%3d frames: %6.2f us a sample (%.2f to %.2f)\n", depths[d],
               costs[TURNS / 2] * 1e6, costs[1] * 1e6, costs[TURNS - 2] * 1e6);
    }
    return 0;
}
