/*
 * own_calls.h - the calls of the calling thread, by the unwind tables that its
 * process was given, checked against the library's unwinder.
 *
 * For code that runs inside the database: no lock, no memory, libc alone;
 * callable wherever the library's unwinder is.
 */
#ifndef HW_OWN_CALLS_H
#define HW_OWN_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind_walk.h"

enum {
    OWN_CALLS_MAX = 128,
    OWN_CALLS_CHECKED = 1000 /* stacks through an object that are compared */
};

/* A loaded object that has a table. */
struct own_object {
    struct unwind_table table;
    const void *start, *map, *frames; /* as _dl_find_object says */
    _Atomic uint32_t checked; /* stacks on which both unwinders agreed */
    _Atomic uint32_t unused;  /* bool: they differed, or it was unloaded */
};

/* Immutable but for the objects' last two fields and the memo; never freed. */
struct given_tables {
    struct unwind_source source;
    struct own_object *const *objects; /* by index of source.list */
    _Atomic uint64_t *memo;
};

/* How the caller takes a stack. */
struct own_calls {
    /* The library's unwinder, called where the tables cannot tell.  Writes at
     * most OWN_CALLS_MAX frames of the same calls, and returns how many. */
    uint32_t (*library)(const struct unwind_call *call, uint64_t *frames);
    uint64_t hidden_start, hidden_end; /* code that is left out */
    bool ends_at_signal; /* the library's stacks end there, too; if false, such
                          * a stack is the library's to take */
};

/* The calls from this one on: return addresses, the innermost first.  tables
 * NULL: by the library. */
uint32_t own_calls_take(const struct own_calls *calls,
                        const struct given_tables *tables,
                        const struct unwind_call *call,
                        uint64_t frames[OWN_CALLS_MAX]);

/* Whether the object is still loaded where it was. */
bool own_object_is_there(const struct own_object *object);

#endif
