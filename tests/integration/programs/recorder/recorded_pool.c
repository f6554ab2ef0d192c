/*
 * recorded_pool.c - threads with names that hold known bytes, old ones and new.
 *
 * recorded_pool FIFO
 *
 * pool-N, of 1 to 3, holds N old blocks; "gone" holds one and ends.  Says
 * "old".  Once a byte comes through FIFO, each pool-N holds N fresh blocks
 * more, and has freed ten others; it says "fresh", and waits to be killed.
 * Blocks are so large that each is sampled, and nobody touches them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, BLOCK = 16 << 20, TEMPORARY = 10 };

static pthread_barrier_t steps;
static void *held[THREADS + 1][2 * THREADS];

/* What is behind the call keeps its frame, and its name tells it from the
 * others: the compiler would make one function of all. */
#define SITE(name)                                                             \
    __attribute__((noinline)) static void *name(void)                          \
    {                                                                          \
        void *block = malloc(BLOCK);                                           \
                                                                               \
        __asm__ volatile("# " #name : "+r"(block));                            \
        return block;                                                          \
    }
SITE(old_block)
SITE(fresh_block)
SITE(temporary_block)

static void *
work(void *arg)
{
    int n = (int)(intptr_t)arg;
    char name[16];

    snprintf(name, sizeof(name), "pool-%d", n);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < n; i++)
        held[n][i] = old_block();
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps); /* main has read the byte */
    for (int i = 0; i < n; i++)
        held[n][THREADS + i] = fresh_block();
    for (int i = 0; i < TEMPORARY; i++)
        free(temporary_block());
    pthread_barrier_wait(&steps);
    pause();
    return arg;
}

static void *
go(void *arg)
{
    pthread_setname_np(pthread_self(), "gone");
    held[0][0] = old_block();
    return arg;
}

int
main(int argc, char **argv)
{
    pthread_t thread;
    char byte;
    int fifo;

    if (argc != 2 || pthread_barrier_init(&steps, NULL, THREADS + 1) != 0)
        return 1;
    pthread_create(&thread, NULL, go, NULL);
    pthread_join(thread, NULL);
    for (intptr_t n = 1; n <= THREADS; n++)
        pthread_create(&thread, NULL, work, (void *)n); // NOLINT(*-int-to-ptr)
    pthread_barrier_wait(&steps);
    puts("old");
    fflush(stdout);
    fifo = open(argv[1], O_RDONLY);
    if (fifo < 0 || read(fifo, &byte, 1) != 1)
        return 1;
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    puts("fresh");
    fflush(stdout);
    pause();
    return 0;
}
