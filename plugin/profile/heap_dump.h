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

#include "mappings.h"

struct arena;
struct error;
struct heap_source; /* heap_lines.h */

enum {
    HEAP_DUMP_DEPTH_MAX = 1024,       /* addresses of one stack */
    HEAP_DUMP_STACKS_MAX = 1 << 20,   /* jemalloc users have thousands */
    HEAP_DUMP_ADDRESSES_MAX = 1 << 22 /* distinct ones */
};

struct heap_stack {
    uint32_t *addresses;     /* indices into the dump's; leaf first */
    uint32_t depth;          /* may be 0: the unwinder found nothing */
    uint64_t objects, bytes; /* in use */
    uint64_t objects_ever, bytes_ever;
};

struct heap_dump {
    uint64_t rate; /* mean bytes between two samples */
    /* In the dump's order; one stack may occur more than once, but for those
     * that jemalloc sorted. */
    struct heap_stack *stacks;
    size_t stack_count;
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
    struct arena *indices; /* the stacks'; profile_new takes them */
};

/* Parses text, which need not outlive the call.  NULL with *err. */
struct heap_dump *heap_dump_parse(const char *text, size_t size,
                                  struct error *err);
/* Likewise what source gives, of which little is in memory at a time. */
struct heap_dump *heap_dump_read(const struct heap_source *source,
                                 struct error *err);
/* Likewise, but it begins with a stack's line: a dump's second part. */
struct heap_dump *heap_dump_read_part(const struct heap_source *source,
                                      struct error *err);
void heap_dump_free(struct heap_dump *dump); /* NULL is fine */

/* The stacks' indices are others now. */
void heap_dump_renumber(const struct heap_dump *dump, const uint32_t *now);

/* Whether a stack, which begins with at least common addresses of the last one,
 * is behind it by jemalloc's order: of the bytes in its memory.  Where all are,
 * no two are the same. */
bool heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                          const struct heap_stack *last, uint32_t common);

#endif
