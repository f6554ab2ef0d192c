/*
 * unwind_walk.h - finds a thread's callers, by unwind tables and, where there
 * is none, by frame pointers.
 *
 * Reads nothing but the tables and the stack that it is given; takes no memory
 * and no lock, and calls nothing that may block: callable anywhere.
 */
#ifndef HW_UNWIND_WALK_H
#define HW_UNWIND_WALK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "thread_state.h"
#include "unwind_table.h"

/* A run of executable memory. */
struct unwind_code {
    uint64_t start, end;              /* addresses, end exclusive */
    uint64_t offset;                  /* of start, in its file */
    const struct unwind_table *table; /* NULL: none */
};

enum { UNWIND_CACHE_SLOTS = 1024 };

/* Rules found before.  Zero it at first, and again when code or tables change;
 * used by one thread at a time. */
struct unwind_cache {
    struct unwind_cached {
        uint64_t pc;
        struct unwind_rule rule;
    } slots[UNWIND_CACHE_SLOTS];
};

/* All that is executable in the process. */
struct unwind_source {
    const struct unwind_code *list; /* ascending, disjoint */
    size_t count;
    struct unwind_cache *cache; /* NULL: none */
};

enum unwind_end {
    UNWIND_END_OUTERMOST, /* the outermost frame was reached */
    UNWIND_END_STACK,     /* the next frame lies beyond the copy */
    UNWIND_END_RULE,      /* no rule, and no frame pointers */
    UNWIND_END_LOOP,      /* a caller's frame would not lie above */
    UNWIND_END_DEPTH,
    UNWIND_END_SIGNAL /* unwind_walk_calls alone */
};

/*
 * Writes at most room addresses to pcs, the leaf's first, and returns how many.
 * All but the first, and but those that a signal interrupted and the kernel's
 * frames above, are one less than the return address: the call itself.
 */
size_t unwind_walk(const struct unwind_source *source,
                   const struct thread_stack *stack,
                   const struct thread_registers *registers, uint64_t *pcs,
                   size_t room, enum unwind_end *why);

/* A call that a thread is in: its registers once that call returns. */
struct unwind_call {
    uint64_t pc, sp, fp; /* pc: the return address */
};

/* Where the walk of a thread's own stack puts its frames. */
struct unwind_calls {
    uint64_t *pcs;   /* return addresses, the innermost first */
    uint16_t *codes; /* index in the source's list, by frame */
    size_t capacity;
};

/* Numbers of rules found before, in one source, shared by all threads: words
 * that are loaded and stored whole, 0 at first. */
enum { UNWIND_MEMO_WORDS = 2048 };

/* Like unwind_walk, but starts at a call and uses tables alone: it ends at code
 * without a rule, and at the frame of a signal (UNWIND_END_SIGNAL). */
size_t unwind_walk_calls(const struct unwind_source *source,
                         _Atomic uint64_t *memo,
                         const struct thread_stack *stack,
                         const struct unwind_call *call,
                         const struct unwind_calls *out, enum unwind_end *why);

/* "its stack was copied only up to here"; "" for a whole one. */
const char *unwind_end_text(enum unwind_end why);

#endif
