/*
 * heap_dump.h - jemalloc's heap profile as text: the heap_v2 format.
 *
 *     heap_v2/<rate>
 *       t*: <objects>: <bytes> [<objects ever>: <bytes ever>]
 *     @ <address> <address> ...
 *       t*: ...         this stack, all threads
 *       t3: ...         this stack, thread 3 (dump_threads.h)
 *     MAPPED_LIBRARIES:
 *     <the text of /proc/self/maps>
 *
 * The totals "ever" are counted only with opt.prof_accum, and are 0 otherwise.
 * Lines of unknown form are skipped, as jeprof does; known ones with impossible
 * numbers are errors.  Counts are of samples: profile.h estimates the real
 * ones.
 */
#ifndef HW_HEAP_DUMP_H
#define HW_HEAP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap_threads.h"
#include "mappings.h"
#include "profile_kind.h"

struct arena;
struct arena_meter;
struct error;

/* Stacks are kept in pieces, so that they never move.  The size lets a freed
 * piece be reused as an arena's block of 64 kB. */
enum { HEAP_STACKS_PIECE = 900 };

/* What the samples in use stand for; variance is that of bytes. */
struct heap_estimate {
    double objects, bytes, variance;
};

/* Samples in use of one size class (../model/size_class.h). */
struct heap_size {
    uint32_t number;
    double objects, bytes; /* what they stand for */
    double variance;       /* of objects */
};

struct heap_stack {
    uint32_t *addresses; /* indices into the dump's addresses; leaf first */
    uint32_t depth;      /* may be 0: the unwinder found nothing */
    /* Of the objects in use, if the dump has threads. */
    uint32_t thread : 24, age : 8;
    uint64_t objects, bytes; /* in use */
    uint64_t objects_ever, bytes_ever;
    /* If the dump is weighted: one rate does not tell the estimates then. */
    struct heap_estimate estimate;
    /* If the dump is sized.  One entry of a stack has the sizes of all its
     * entries. */
    const struct heap_size *sizes;
    uint32_t size_count;
};

/* The sampled part of a stack in use that one thread allocated: one of
 * jemalloc's lines by thread. */
struct heap_share {
    uint32_t stack, thread; /* indices into the dump's stacks and threads */
    uint64_t objects, bytes;
};

struct heap_piece {
    struct heap_piece *next;
    size_t count;
    struct heap_stack stacks[HEAP_STACKS_PIECE];
};

struct heap_stacks {
    struct heap_piece *first, *last;
    struct arena *indices; /* where the stacks' addresses are */
};

/* For makers of dumps.  -1: no memory. */
int heap_stacks_init(struct heap_stacks *stacks, size_t limit_bytes);
void heap_stacks_fini(struct heap_stacks *stacks);
/* Appends a stack, not initialized.  NULL: no memory. */
struct heap_stack *heap_stacks_add(struct heap_stacks *stacks);
/* Sorts the list of addresses, removes duplicates, and has the stacks' indices
 * follow.  Counts what that takes as holder's.  -1: no memory. */
int heap_stacks_sort(struct heap_stacks *stacks, uint64_t *list, size_t *count,
                     struct arena *holder);

/* The source of pieces: reads up to room bytes to `to`; 0 at the end, -1 with
 * *err. */
struct heap_source {
    ssize_t (*read)(void *arg, char *to, size_t room, struct error *err);
    void *arg;
};

enum {
    HEAP_DUMP_DEPTH_MAX = 1024,     /* addresses of one stack */
    HEAP_DUMP_STACKS_MAX = 1 << 20, /* real programs have thousands */
    /* shares beyond it count for no known thread */
    HEAP_DUMP_SHARES_MAX = 1 << 22,
    HEAP_DUMP_ADDRESSES_MAX = 1 << 22 /* distinct ones */
};

struct heap_dump {
    enum profile_kind kind;
    uint64_t rate;        /* mean bytes, or nanoseconds, between two samples */
    uint64_t duration_ms; /* how long the program was sampled; 0 for the heap */
    /* In the dump's order.  A stack may repeat unless sorted is set.
     * profile_new takes them over. */
    struct heap_stacks stacks;
    size_t stack_count;
    bool sorted;
    /* Stacks have estimates, and their counts "ever" are estimates already. */
    bool weighted;
    /* The addresses to be named: ascending, distinct.  All but a stack's first
     * are one less than in the text: the text has return addresses, and the
     * call itself has the name (jeprof's rule). */
    uint64_t *addresses;
    size_t address_count;
    /* A recorder notes thread and age of each sample; jemalloc's dump has
     * shares of threads, by stack; other dumps have none. */
    struct heap_threads threads;
    bool sized; /* a recorder's dump: stacks have sizes */
    struct heap_share *shares;
    size_t share_count;
    /* over which time the sums "ever" were counted; 0: not known */
    uint64_t counted_ms;
    struct mappings maps; /* empty if the dump was cut before them */
    bool truncated;       /* the text was cut off; its whole lines are here */
    struct arena *arena;
};

/* Parses text, which may be freed afterwards.  NULL with *err. */
struct heap_dump *heap_dump_parse(const char *text, size_t size,
                                  struct error *err);
/* The same; meter counts the memory of the dump, and of the profile that takes
 * its stacks. */
struct heap_dump *heap_dump_parse_counted(const char *text, size_t size,
                                          const struct arena_meter *meter,
                                          struct error *err);
/* The same from source, with little of the text in memory. */
struct heap_dump *heap_dump_read(const struct heap_source *source,
                                 struct error *err);
void heap_dump_free(struct heap_dump *dump); /* NULL is fine */

#endif
