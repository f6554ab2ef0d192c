/*
 * patient.c - memory with one illness each, for diagnosis.py.
 *
 * patient ILLNESS.  All hold 64 MB in use (hold_data).
 *   fragments    of 96 MB in blocks of 160 bytes (keep_few) one in ten stays
 *   free_pages   a thread has freed 128 MB, and waits
 *   muzzy        likewise, and goes on: muzzy, with muzzy_decay_ms:-1
 *   outside      128 MB are mapped without malloc
 *   fills        a cache (fill_cache) grows to its limit, slower and slower
 *   tight        320 MB more are in use
 *   padded       likewise in blocks to which jemalloc adds a page each
 *   healthy      nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    MB = 1 << 20,
    LARGE = 32 << 10,
    SMALL = 160,
    DATA = 64 * MB,
    FEW = 96 * MB / SMALL,
    FREED = 128 * MB / LARGE,
    MIDDLE = 8 << 10, /* of a slab: jemalloc adds a page to larger ones */
    MORE = 320 * MB / MIDDLE,
    PADDED = 16 << 10,
    MORE_PADDED = 320 * MB / PADDED,
    UNCACHED = 100 << 10, /* by the thread */
    STEP_MS = 50,
    MUZZY_US = 10000
};

static char *data[DATA / LARGE], *few[FEW], *freed[FREED], *more[MORE];
char *volatile cached; /* the last entry; the others stay, too */
static bool goes_on;   /* who has freed much */

/* A macro: the caller is who allocates. */
#define NEW_BLOCK(to, size)                                                    \
    do {                                                                       \
        char *block = malloc(size);                                            \
                                                                               \
        if (!block)                                                            \
            abort();                                                           \
        (to) = memset(block, 1, size);                                         \
    } while (0)

__attribute__((noinline)) static void
hold_data(void)
{
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
        NEW_BLOCK(data[i], LARGE);
}

__attribute__((noinline)) static void
keep_few(void)
{
    for (size_t i = 0; i < FEW; i++)
        NEW_BLOCK(few[i], SMALL);
    for (size_t i = 0; i < FEW; i++)
        if (i % 10 != 0)
            free(few[i]);
}

static void *
free_much(void *arg)
{
    pthread_barrier_t *done = arg;

    for (size_t i = 0; i < FREED; i++)
        NEW_BLOCK(freed[i], LARGE);
    for (size_t i = 0; i < FREED; i++)
        free(freed[i]);
    pthread_barrier_wait(done);
    for (;; usleep(MUZZY_US))
        for (int i = 0; goes_on && i < 1000; i++) {
            cached = malloc(UNCACHED); /* jemalloc looks at its clock */
            free(cached);
        }
}

__attribute__((noinline)) static void
fill_cache(double bytes)
{
    for (; bytes >= 2048; bytes -= 2048)
        NEW_BLOCK(cached, 2048);
}

int
main(int argc, char **argv)
{
    const char *illness = argc > 1 ? argv[1] : "healthy";
    struct timespec step_time = {0, STEP_MS * 1000000L};
    double room = strcmp(illness, "fills") == 0 ? 64.0 * MB : 0;
    pthread_barrier_t done;
    pthread_t thread;

    hold_data();
    if (strcmp(illness, "fragments") == 0)
        keep_few();
    pthread_barrier_init(&done, NULL, 2);
    goes_on = strcmp(illness, "muzzy") == 0;
    if ((goes_on || strcmp(illness, "free_pages") == 0) &&
        pthread_create(&thread, NULL, free_much, &done) == 0)
        pthread_barrier_wait(&done);
    if (strcmp(illness, "outside") == 0)
        memset(mmap(NULL, 128 * MB, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
               1, 128 * MB);
    for (size_t i = 0; strcmp(illness, "tight") == 0 && i < MORE; i++)
        NEW_BLOCK(more[i], MIDDLE);
    for (size_t i = 0; strcmp(illness, "padded") == 0 && i < MORE_PADDED; i++)
        NEW_BLOCK(more[i], PADDED);
    puts("ready");
    fflush(stdout);
    for (;;) {
        double grows = room / 600;

        fill_cache(grows); /* a thirtieth of the rest in a second */
        room -= grows;
        nanosleep(&step_time, NULL);
    }
}
