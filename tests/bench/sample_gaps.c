/*
 * sample_gaps SECONDS STACK - asks for the time without a rest, for so long
 * after each line of its input, and prints how often it was away for how many
 * microseconds: "us:times ...".  STACK: bytes that lie on its stack above.
 * For cpu_cost.py, which builds it.
 */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONGEST_US = 1000, LINE = 8 };

static unsigned times[LONGEST_US];

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void
look(uint64_t seconds)
{
    uint64_t last = now_ns(), end = last + seconds * 1000000000, now;

    memset(times, 0, sizeof(times));
    while ((now = now_ns()) < end) {
        uint64_t us = (now - last) / 1000;

        times[us < LONGEST_US ? us : LONGEST_US - 1]++;
        last = now;
    }
}

int
main(int argc, char **argv)
{
    uint64_t seconds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    volatile char *above = alloca(size + 1);
    char line[LINE];

    for (size_t i = 0; i <= size; i++)
        above[i] = 1;
    while (fgets(line, sizeof(line), stdin)) {
        look(seconds);
        for (int us = 1; us < LONGEST_US; us++)
            if (times[us])
                printf("%d:%u ", us, times[us]);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
