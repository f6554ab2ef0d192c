/*
 * recorded_blocks.c - a server of a kind, whose live bytes are known.
 *
 * At SIGUSR1 it keeps SMALL_COUNT blocks of SMALL bytes and LARGE_COUNT of
 * LARGE, by functions of their own, all in memory; at the next, it frees each
 * second small one.  At SIGUSR2 it writes where nothing is.  Each line that it
 * says is what it has done.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1000, SMALL_COUNT = 32000, LARGE = 1 << 20, LARGE_COUNT = 16 };

/* Volatile: what nobody reads is kept, too. */
static void *volatile small[SMALL_COUNT], *volatile large[LARGE_COUNT];
static int *volatile nowhere;

static __attribute__((noinline)) void
keep_small(void)
{
    for (int i = 0; i < SMALL_COUNT; i++)
        small[i] = malloc(SMALL);
}

static __attribute__((noinline)) void
keep_large(void)
{
    for (int i = 0; i < LARGE_COUNT; i++) {
        large[i] = calloc(1, LARGE);
        memset(large[i], 1, LARGE);
    }
}

static void
free_half(void)
{
    for (int i = 0; i < SMALL_COUNT; i += 2)
        free(small[i]);
}

int
main(void)
{
    sigset_t set;
    int got, times = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("ready\n");
    fflush(stdout);
    while (sigwait(&set, &got) == 0) {
        if (got == SIGUSR2)
            *nowhere = 1;
        if (times++ > 0) {
            free_half();
        } else {
            keep_small();
            keep_large();
        }
        printf(times > 1 ? "freed\n" : "kept\n");
        fflush(stdout);
    }
    return 1;
}
