/*
 * free_pages.h - why free pages stay in memory, and what gives them back.
 *
 * Pure: from a node's figures, in words for people.
 */
#ifndef HW_FREE_PAGES_H
#define HW_FREE_PAGES_H

#include <stdint.h>

struct buffer;
struct stats;

enum free_pages_cause {
    FREE_PAGES_UNKNOWN, /* the jemalloc does not tell what it is set to */
    /* dirty_decay_ms or muzzy_decay_ms, by the kind of most pages, is -1 */
    FREE_PAGES_NEVER,
    FREE_PAGES_IDLE, /* background_thread is 0 */
    FREE_PAGES_DECAY /* background threads give them back after that time */
};

/* Dirty and muzzy pages of all arenas, in bytes. */
uint64_t free_pages_bytes(const struct stats *stats);
/* Why they stay.  Sets *decay_ms for FREE_PAGES_DECAY. */
enum free_pages_cause free_pages_cause(const struct stats *stats,
                                       int64_t *decay_ms);

/* One sentence without a full stop; nothing where they are few (less than 16
 * MB, or than a twentieth of resident), or not known. */
void free_pages_write(const struct stats *stats, struct buffer *out);

#endif
