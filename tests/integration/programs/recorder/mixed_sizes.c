/*
 * mixed_sizes.c - threads that allocate with one stack, some of them small
 * blocks alone and some large ones among them; for heap_threads.py.
 *
 * Says what each holds, "small-0 1234", and waits to be killed.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 8, BLOCKS = 100000, LARGE_EACH = 1000 };

static pthread_barrier_t held_all;
static char names[THREADS][16];
static size_t held[THREADS];

static size_t
choose_size(unsigned *seed, int thread, int block)
{
    return thread % 2 && block % LARGE_EACH == 0
               ? 50000 + (size_t)rand_r(seed) % 400000
               : 16 + (size_t)rand_r(seed) % 64;
}

static void *
hold(void *thread)
{
    int i = (int)(intptr_t)thread;
    unsigned seed = (unsigned)i + 1;

    prctl(PR_SET_NAME, names[i]);
    for (int block = 0; block < BLOCKS; block++) {
        void *one = malloc(choose_size(&seed, i, block));

        __asm__ volatile("" : "+r"(one));
        held[i] += malloc_usable_size(one);
    }
    pthread_barrier_wait(&held_all);
    pause();
    return NULL;
}

int
main(void)
{
    pthread_t thread;

    pthread_barrier_init(&held_all, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof(names[i]), "%s-%d", i % 2 ? "large" : "small",
                 i);
        if (pthread_create(&thread, NULL, hold, (void *)(intptr_t)i) != 0)
            return 1;
    }
    pthread_barrier_wait(&held_all);
    for (int i = 0; i < THREADS; i++)
        printf("%s %zu\n", names[i], held[i]);
    fflush(stdout);
    pause();
}
