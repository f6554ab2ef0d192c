/*
 * stall_load.c - how long malloc() takes, in threads of a program with many
 * live stacks, while it is profiled.
 *
 * stall_load STACKS THREADS ORDERS: STACKS blocks stay, each allocated through
 * a stack of its own; then the threads allocate and free small ones through
 * the same stacks.  The file of orders (a FIFO) says "fill" (once profiling is
 * on), "mark" (counting begins) and "tell FILE" (what was counted since).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEPTH = 16,
    KEPT_BYTES = 256 << 10, /* of one: never touched, and sampled nearly for
                               certain at one in 64 KiB */
    SMALL_BYTES = 512,
    HELD = 512,
    BUCKETS = 4096, /* 16 to each doubling */
    THREADS_MAX = 64
};

struct counts {
    uint64_t buckets[BUCKETS];
    uint64_t longest_ns;
};

static unsigned stacks, threads;
static atomic_uint phase, told;
static struct counts counts[THREADS_MAX];
static void **kept;

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* About a sixteenth of each doubling is one bucket. */
static unsigned
bucket_of(uint64_t ns)
{
    unsigned doubling;

    if (ns < 16)
        return (unsigned)ns;
    doubling = 63 - (unsigned)__builtin_clzll(ns);
    return doubling * 16 + (unsigned)(ns >> (doubling - 4) & 15);
}

static uint64_t
bucket_ns(unsigned bucket)
{
    if (bucket < 64)
        return bucket;
    return (16ull + bucket % 16) << (bucket / 16 - 4);
}

static void *walk(unsigned number, int depth, size_t size);

static __attribute__((noinline)) void *
left(unsigned number, int depth, size_t size)
{
    void *block = walk(number >> 1, depth - 1, size);

    __asm__ volatile("" : "+r"(block));
    return block;
}

static __attribute__((noinline)) void *
right(unsigned number, int depth, size_t size)
{
    void *block = walk(number >> 1, depth - 1, size);

    __asm__ volatile("" : "+r"(block));
    return block;
}

static __thread uint64_t took_ns;

/* A way through left and right for each number. */
static __attribute__((noinline)) void *
walk(unsigned number, int depth, size_t size)
{
    void *block;

    if (depth == 0) {
        uint64_t began = now_ns();

        block = malloc(size);
        took_ns = now_ns() - began;
    } else {
        block =
            number & 1 ? right(number, depth, size) : left(number, depth, size);
    }
    __asm__ volatile("" : "+r"(block));
    return block;
}

static void *
worker(void *arg)
{
    struct counts *mine = arg;
    unsigned random = (unsigned)(mine - counts) * 7919 + 1;
    void *held[HELD] = {NULL};
    unsigned seen = 0;

    for (unsigned i = 0;; i++) {
        unsigned at = atomic_load_explicit(&phase, memory_order_acquire);

        if (at != seen) {
            seen = at;
            if (at % 2) /* a mark; else: written, leave it as it is */
                memset(mine, 0, sizeof(*mine));
            atomic_fetch_add_explicit(&told, 1, memory_order_release);
        }
        random = random * 1664525 + 1013904223;
        free(held[i % HELD]);
        held[i % HELD] = walk((random >> 8) % stacks, DEPTH, SMALL_BYTES);
        if (seen % 2 == 0)
            continue;
        mine->buckets[bucket_of(took_ns)]++;
        if (took_ns > mine->longest_ns)
            mine->longest_ns = took_ns;
    }
    return NULL;
}

static void
enter_phase(unsigned to)
{
    atomic_store_explicit(&told, 0, memory_order_release);
    atomic_store_explicit(&phase, to, memory_order_release);
    while (atomic_load_explicit(&told, memory_order_acquire) < threads)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static uint64_t
quantile(const struct counts *all, double part)
{
    uint64_t total = 0, seen = 0;

    for (unsigned b = 0; b < BUCKETS; b++)
        total += all->buckets[b];
    for (unsigned b = 0; b < BUCKETS; b++) {
        seen += all->buckets[b];
        if ((double)seen >= (double)total * part)
            return bucket_ns(b);
    }
    return 0;
}

/* "COUNT P50 P99 P99.9 P99.99 LONGEST", in ns. */
static void
tell(const char *path)
{
    static struct counts all;
    FILE *out = fopen(path, "we");
    uint64_t total = 0;

    memset(&all, 0, sizeof(all));
    for (unsigned t = 0; t < threads; t++) {
        for (unsigned b = 0; b < BUCKETS; b++)
            all.buckets[b] += counts[t].buckets[b];
        if (counts[t].longest_ns > all.longest_ns)
            all.longest_ns = counts[t].longest_ns;
    }
    for (unsigned b = 0; b < BUCKETS; b++)
        total += all.buckets[b];
    if (!out)
        return;
    fprintf(out, "%llu %llu %llu %llu %llu %llu\n", (unsigned long long)total,
            (unsigned long long)quantile(&all, .5),
            (unsigned long long)quantile(&all, .99),
            (unsigned long long)quantile(&all, .999),
            (unsigned long long)quantile(&all, .9999),
            (unsigned long long)all.longest_ns);
    fclose(out);
}

int
main(int argc, char **argv)
{
    char word[1024], path[1024 + 8];
    FILE *orders;
    pthread_t thread;

    if (argc != 4)
        return 2;
    stacks = (unsigned)strtoul(argv[1], NULL, 10);
    threads = (unsigned)strtoul(argv[2], NULL, 10);
    orders = fopen(argv[3], "re");
    kept = calloc(stacks ? stacks : 1, sizeof(*kept));
    if (!orders || !kept || stacks == 0 || threads == 0 ||
        threads > THREADS_MAX)
        return 2;
    while (fscanf(orders, "%1023s", word) == 1) {
        if (strcmp(word, "fill") == 0) {
            for (unsigned i = 0; i < stacks; i++)
                kept[i] = walk(i, DEPTH, KEPT_BYTES);
            for (unsigned t = 0; t < threads; t++)
                pthread_create(&thread, NULL, worker, &counts[t]);
        } else if (strcmp(word, "mark") == 0) {
            enter_phase(phase + 1 + phase % 2);
        } else if (strcmp(word, "tell") == 0 &&
                   fscanf(orders, "%1023s", word) == 1) {
            enter_phase(phase + phase % 2);
            snprintf(path, sizeof(path), "%s.new", word);
            tell(path);
            rename(path, word);
        }
    }
    return 0;
}
