/*
 * jemalloc_late.h - objects that were loaded after the program's start.
 *
 * Used by the agent's thread alone, which holds no lock meanwhile, and waits
 * for the loader's only where a file brings a jemalloc.
 */
#ifndef HW_JEMALLOC_LATE_H
#define HW_JEMALLOC_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jemalloc_find.h"

enum { LATE_SEEN_MAX = 1024 };

struct late {
    unsigned long long adds; /* the loader's count of objects, as of then */
    bool again;              /* one was not ready */
    uint64_t seen[LATE_SEEN_MAX];
    size_t seen_count;
};

/* What is loaded now is known already. */
void late_begin(struct late *late);

/*
 * Whether the list got longer: each object that is new (with a zeroed struct:
 * each) and whose file brings a jemalloc is added once the loader has finished
 * with it, and stays loaded.  known and wanted as of allocators_find; the
 * choice, where there was one, stays.
 */
bool late_look(struct late *late, struct allocators *all, const char *known,
               const char *wanted);

#endif
