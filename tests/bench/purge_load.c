/*
 * purge_load.c - threads that allocate and free while free pages wait to be
 * given back: how long the slowest allocation took.
 *
 * purge_load THREADS MEGABYTES.  For each line of input one of output: how many
 * allocations there were since the last one, the slowest of each 10000 of them,
 * and the slowest, in microseconds; "fill" makes the pages first.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LARGE = 100000,
    APART = 20000, /* kept between them: no run of pages is large */
    SLOTS = 200000,
    SIZE_MIN = 20000,
    SIZE_SPAN = 80000,
    NS = 1000000000,
    STEPS = 64 /* of latency: powers of the square root of two */
};

static atomic_ulong counts[STEPS], slowest_ns;
static void *volatile kept[SLOTS];
static size_t kept_count;

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

static void
note_time(uint64_t ns)
{
    unsigned long most = atomic_load(&slowest_ns);
    unsigned step = 0;

    for (uint64_t left = ns * ns; left > 1 && step < STEPS - 1; left >>= 1)
        step++;
    atomic_fetch_add_explicit(&counts[step], 1, memory_order_relaxed);
    while (ns > most && !atomic_compare_exchange_weak(&slowest_ns, &most, ns))
        ;
}

static void *
work(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (;;) {
        size_t size = SIZE_MIN + (size_t)rand_r(&seed) % SIZE_SPAN;
        uint64_t began = now_ns();
        char *block = malloc(size);

        if (!block)
            abort();
        *(volatile char *)block = 1;
        free(block);
        note_time(now_ns() - began);
    }
    return NULL;
}

static void
fill(size_t megabytes)
{
    size_t count = megabytes * (1 << 20) / LARGE;
    void **large = calloc(count, sizeof(*large));

    for (size_t i = 0; large && i < count && kept_count < SLOTS; i++) {
        large[i] = malloc(LARGE);
        if (large[i])
            memset(large[i], 1, LARGE);
        kept[kept_count++] = malloc(APART);
    }
    for (size_t i = 0; large && i < count; i++)
        free(large[i]);
    free(large);
}

static void
report(void)
{
    unsigned long sum = 0, seen = 0, of[STEPS];
    unsigned step = 0;
    double ns = 1;

    for (unsigned i = 0; i < STEPS; i++)
        sum += of[i] = atomic_exchange(&counts[i], 0);
    for (; step < STEPS && seen < sum - sum / 10000; step++)
        seen += of[step];
    for (unsigned i = 0; i < step; i++)
        ns *= 1.4142135623730951;
    printf("%lu %.1f %.1f\n", sum, ns / 1000,
           (double)atomic_exchange(&slowest_ns, 0) / 1000);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    size_t megabytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    char line[100];

    for (int i = 0; i < threads; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)(i + 1)))
            return 1;
    }
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "fill\n") == 0)
            fill(megabytes);
        report();
    }
    return 0;
}
