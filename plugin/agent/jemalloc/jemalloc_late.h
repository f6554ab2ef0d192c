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
    unsigned long long adds; /* dlpi_adds at the last look */
    bool again;              /* an object was not ready: look again */
    uint64_t seen[LATE_SEEN_MAX];
    size_t seen_count;
};

/* Marks all objects loaded now as known. */
void late_begin(struct late *late);

/*
 * Adds the jemallocs of new objects (with a zeroed struct: of all) once the
 * loader has finished with them, and keeps these objects loaded.  known and
 * wanted as in allocators_find; an earlier choice stays.  True if it added one.
 */
bool late_look(struct late *late, struct allocators *all, const char *known,
               const char *wanted);

#endif
