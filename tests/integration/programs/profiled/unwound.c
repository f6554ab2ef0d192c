/*
 * unwound - works for ever, in C alone, also in a signal handler: for libcs and
 * flags that unwound.cc does without.  For cpu_truth.py.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { NUMBERS = 300 };

static volatile unsigned long sink;

NOINLINE static void
spin(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink = sink * 31 + i;
}

static int
compare(const void *a, const void *b)
{
    const int *x = a, *y = b;

    spin(2);
    return (*x > *y) - (*x < *y);
}

NOINLINE static void
on_alarm(int number)
{
    (void)number;
    spin(30000);
}

NOINLINE static unsigned long
recurse(unsigned depth)
{
    unsigned long below = depth > 0 ? recurse(depth - 1) : 0;

    spin(10);
    return below * 3 + sink;
}

NOINLINE static void
work(void)
{
    int numbers[NUMBERS];
    struct timespec now;
    char text[64];

    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i * 7919 % NUMBERS;
    qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
    snprintf(text, sizeof(text), "%d %f", numbers[3], (double)sink);
    sink = sink + strlen(text);
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink = sink + (unsigned long)getppid();
    }
    sink = sink + recurse(50);
    free(malloc(100 + sink % 1000));
}

int
main(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 1000}, {0, 1000}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (;;)
        work();
}
