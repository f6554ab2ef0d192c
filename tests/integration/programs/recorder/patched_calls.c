/*
 * patched_calls.c - a program whose own calloc and realloc call its own malloc,
 * as jemalloc 5.1's realloc does: for patched.py, with bump_malloc.c.
 *
 * Its functions begin with endbr64, as the compiler makes them here; stdlib.h
 * declares them, whose names the build changes.
 */
#include <stdlib.h>
#include <unistd.h>

#include "recorded_sites.h"

enum { BLOCKS = 300, SMALL = 100, LARGER = 5000 };

extern void je_free(void *block);

static void *held;
static volatile long freed;

/* That of bump_malloc.c is shorter than a jump. */
void
je_free(void *block)
{
    freed += block != NULL;
}

SITE(plain, je_malloc(size))
SITE(zeroed, je_calloc(1, size))
SITE(begun, je_realloc(NULL, size))
SITE(grown, je_realloc(held, size))

int
main(void)
{
    struct site *const sites[] = {&site_plain, &site_zeroed, &site_begun,
                                  &site_grown};

    for (int i = 0; i < BLOCKS; i++) {
        site_take(&site_plain, SMALL);
        site_take(&site_zeroed, SMALL);
        held = site_take(&site_begun, SMALL);
        if (i % 3 == 0) {
            held = site_take(&site_grown, LARGER);
            site_gone(&site_begun, SMALL);
        } else if (i % 3 == 1) {
            je_free(held);
            site_gone(&site_begun, SMALL);
        }
    }
    sites_say(sites, sizeof(sites) / sizeof(sites[0]));
    pause();
    return 0;
}
