/*
 * wasted_slabs.c - slabs of jemalloc's whose free regions are known.
 *
 * At SIGUSR1 it allocates, in turns, so that each slab has some of all:
 *     shrink  MANY blocks of class 160, of which one in ten stays
 *     stay    a block of class 160 to each 20 of these, which all stay
 *     mix     MANY blocks of class 64, which all stay, and HALF of class 224,
 *             of which one in ten stays; by one call
 *     full    MANY blocks of class 96, which all stay
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 200000, HALF = MANY / 2, OF_STAY = 20, KEEP = 10 };

/* Volatile: what nobody reads is kept, too. */
static void *volatile shrunk[MANY], *volatile stayed[MANY / OF_STAY];
static void *volatile mixed[MANY], *volatile mixed_large[HALF];
static void *volatile filled[MANY];

static __attribute__((noinline)) void *
shrink(void)
{
    void *volatile block = malloc(150);

    return block;
}

static __attribute__((noinline)) void *
stay(void)
{
    void *volatile block = malloc(156);

    return block;
}

static __attribute__((noinline)) void *
mix(size_t size)
{
    void *volatile block = malloc(size);

    return block;
}

static __attribute__((noinline)) void *
full(void)
{
    void *volatile block = malloc(90);

    return block;
}

static __attribute__((noinline)) void
fill_slabs(void)
{
    for (int i = 0; i < MANY; i++) {
        shrunk[i] = shrink();
        if (i % OF_STAY == 0)
            stayed[i / OF_STAY] = stay();
        /* One call, so one stack: only the sizes differ. */
        for (volatile int k = 0; k < 1 + (i < HALF); k++) {
            void *block = mix(k == 0 ? 60 : 210);

            if (k == 0)
                mixed[i] = block;
            else
                mixed_large[i] = block;
        }
        filled[i] = full();
    }
}

/* Returns how many stay. */
static int
free_most(void *volatile *blocks, int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (i % KEEP == 0) {
            kept++;
            continue;
        }
        free(blocks[i]);
    }
    return kept;
}

int
main(void)
{
    int got, shrunk_kept, mixed_kept;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("ready\n");
    fflush(stdout);
    sigwait(&set, &got);
    fill_slabs();
    shrunk_kept = free_most(shrunk, MANY);
    mixed_kept = free_most(mixed_large, HALF);
    printf("shrink 160 %d\nstay 160 %d\nmix 64 %d\nmix 224 %d\nfull 96 %d\n"
           "done\n",
           shrunk_kept, MANY / OF_STAY, MANY, mixed_kept, MANY);
    fflush(stdout);
    sigwait(&set, &got);
    return 0;
}
