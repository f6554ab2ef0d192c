/*
 * grower.c - memory that grows, and memory that does not, for heap_trend.py.
 *
 * grower leak | healthy.  Both hold 40 MB that stay (hold_table), 16 MB whose
 * parts are replaced all the time (serve_cache), and teeth of 4 to 8 MB, each
 * with a length of its own below a second (collect_garbage): equal ones would
 * seem to rise for minutes to who looks once a second.  A leak loses 2 MB a
 * second besides (lose_entry).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEP_MS = 50,
    ENTRY = 2048,
    TABLE = 40 << 20,
    SLOTS = (16 << 20) / ENTRY,
    TOOTH = 4096,           /* entries at most, 8 MB */
    TOOTH_STEP = TOOTH / 20 /* of each step */
};

static char *table[TABLE / ENTRY], *slots[SLOTS], *garbage[TOOTH];
static size_t garbage_count;
char *volatile lost; /* the last; nobody asks for those before */

/* A macro: the caller is who allocates. */
#define NEW_ENTRY(to)                                                          \
    do {                                                                       \
        char *entry = malloc(ENTRY);                                           \
                                                                               \
        if (!entry)                                                            \
            abort();                                                           \
        (to) = memset(entry, 1, ENTRY);                                        \
    } while (0)

__attribute__((noinline)) static void
hold_table(void)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        NEW_ENTRY(table[i]);
}

__attribute__((noinline)) static void
serve_cache(unsigned step)
{
    for (unsigned i = 0; i < 100; i++) {
        unsigned at = (step * 100 + i) * 2654435761u % SLOTS;

        free(slots[at]);
        NEW_ENTRY(slots[at]);
    }
}

__attribute__((noinline)) static void
collect_garbage(void)
{
    static unsigned top = TOOTH, chance = 1;

    for (size_t i = 0; i < TOOTH_STEP && garbage_count < TOOTH; i++)
        NEW_ENTRY(garbage[garbage_count++]);
    if (garbage_count + TOOTH_STEP <= top)
        return;
    while (garbage_count > 0)
        free(garbage[--garbage_count]);
    chance = chance * 1664525 + 1013904223;
    top = TOOTH / 2 + (chance >> 16) % (TOOTH / 2);
}

__attribute__((noinline)) static void
lose_entry(void)
{
    NEW_ENTRY(lost);
}

int
main(int argc, char **argv)
{
    int leaks = argc > 1 && strcmp(argv[1], "leak") == 0;
    struct timespec step_time = {0, STEP_MS * 1000000L};

    hold_table();
    for (unsigned i = 0; i < SLOTS / 100 + 1; i++)
        serve_cache(i);
    puts("ready");
    fflush(stdout);
    for (unsigned step = 0;; step++) {
        serve_cache(step);
        collect_garbage();
        for (unsigned i = 0; leaks && i < 51; i++)
            lose_entry();
        nanosleep(&step_time, NULL);
    }
}
