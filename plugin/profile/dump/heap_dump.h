/*
 * heap_dump.h - jemalloc's heap profile as text: the heap_v2 format.
 *
 *     heap_v2/<rate>
 *       t*: <objects>: <bytes> [<objects ever>: <bytes ever>]
 *     @ <address> <address> ...
 *       t*: ...         this stack, all threads
 *       t3: ...         this stack, thread 3
 *     MAPPED_LIBRARIES:
 *     <what /proc/self/maps said>
 *
 * Keeps the sums over threads.  What was ever allocated is counted with
 * opt.prof_accum only and 0 otherwise.  Lines of no known form are
 * skipped, as jeprof does; known ones with impossible numbers are errors.
 * Counts are as sampled: profile.h estimates the truth from them.
 */
#ifndef HW_HEAP_DUMP_H
#define HW_HEAP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_stacks.h"
#include "mappings.h"

struct arena;
struct arena_meter;
struct error;
struct heap_source; /* heap_lines.h */

enum {
    HEAP_DUMP_DEPTH_MAX = 1024,        /* addresses of one stack */
    HEAP_DUMP_STACKS_MAX = 1 << 20,    /* jemalloc users have thousands */
    HEAP_DUMP_ADDRESSES_MAX = 1 << 22, /* distinct ones */
    HEAP_DUMP_PARTS = 2                /* at most, each read by itself */
};

struct heap_dump {
    uint64_t rate; /* mean bytes between two samples */
    /* In the dump's order; one stack may occur more than once, but for those
     * that jemalloc sorted.  A profile takes them (profile.h). */
    struct heap_stacks parts[HEAP_DUMP_PARTS];
    size_t stack_count; /* in all */
    bool sorted;
    /* What must be named: ascending, distinct.  Every address but the first
     * of a stack is less by one than in the text, for it is where a call
     * returns to and the call is what has a name (jeprof's rule). */
    uint64_t *addresses;
    size_t address_count;
    struct mappings maps; /* empty when the dump was cut before them */
    bool has_maps;        /* the text came as far as their line */
    bool truncated;       /* cut off: what was whole is here */
    struct arena *arena;
};

/* Parses text, which need not outlive the call.  NULL with *err. */
struct heap_dump *heap_dump_parse(const char *text, size_t size,
                                  struct error *err);
/* Likewise; what it, and the profile that takes its stacks, have of memory is
 * meter's. */
struct heap_dump *heap_dump_parse_counted(const char *text, size_t size,
                                          const struct arena_meter *meter,
                                          struct error *err);
/* Likewise what source gives, of which little is in memory at a time. */
struct heap_dump *heap_dump_read(const struct heap_source *source,
                                 struct error *err);
/* Likewise, but it begins with a stack's line: a dump's second part. */
struct heap_dump *heap_dump_read_part(const struct heap_source *source,
                                      struct error *err);
void heap_dump_free(struct heap_dump *dump); /* NULL is fine */

#endif
