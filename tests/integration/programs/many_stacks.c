/*
 * many_stacks.c - a process whose heap has as many stacks as one wants, of 64
 * functions that call each other in every order: a graph that is hard to draw.
 *
 *     many_stacks STACKS BYTES: allocates BYTES from each, says "ready", stays
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH = 12 };

typedef void step(unsigned long path, int depth, size_t bytes);

static step *const steps[64];
static void *volatile last;

static unsigned long
mix(unsigned long x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ul;
    return x ^ x >> 29;
}

#define STEP(n)                                                                \
    __attribute__((noinline)) static void step_##n(unsigned long path,         \
                                                   int depth, size_t bytes)    \
    {                                                                          \
        if (depth == 0)                                                        \
            last = malloc(bytes);                                              \
        else                                                                   \
            steps[path % 64](mix(path), depth - 1, bytes);                     \
        __asm__ volatile("" ::: "memory"); /* no tail calls */                 \
    }
#define EIGHT(m, n)                                                            \
    m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define ALL(m)                                                                 \
    EIGHT(m, 0)                                                                \
    EIGHT(m, 1)                                                                \
    EIGHT(m, 2)                                                                \
    EIGHT(m, 3)                                                                \
    EIGHT(m, 4)                                                                \
    EIGHT(m, 5)                                                                \
    EIGHT(m, 6)                                                                \
    EIGHT(m, 7)
ALL(STEP)
#define ENTRY(n) step_##n,
static step *const steps[64] = {ALL(ENTRY)};

int
main(int argc, char **argv)
{
    unsigned long stacks = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 4096;

    for (unsigned long i = 1; i <= stacks; i++)
        steps[i % 64](mix(i), DEPTH, bytes);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
