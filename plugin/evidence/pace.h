/*
 * pace.h - how fast memory grows, and how soon it is to be looked at again.
 *
 * Pure.
 */
#ifndef HW_PACE_H
#define HW_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct marks_now;

enum {
    PACE_MIN_MS = 100, /* between two looks */
    PACE_MAX_MS = 1000,
    PACE_LOOKS = 16, /* until the limit is reached, at that growth */
    PACE_URGENT_PERCENT =
        70 /* the allocator's figures are wanted each second */
};

/* Of one database; a zeroed struct has seen nothing. */
struct pace {
    uint64_t at_ms, used; /* the last look; 0: none */
    uint64_t growth;      /* since the one before it, bytes a second */
};

/* Sets now->growth: the least of the last two steps, for one step may be a
 * burst that is over. */
void pace_look(struct pace *pace, struct marks_now *now);

/* Milliseconds until the next look: soon after one fast step already. */
uint64_t pace_next_ms(const struct pace *pace, const struct marks_now *now);
bool pace_is_urgent(const struct marks_now *now);

#endif
