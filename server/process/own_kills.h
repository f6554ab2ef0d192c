/*
 * own_kills.h - how many processes that the kernel killed for want of memory
 * were heapwired and its helpers: it takes those first.
 *
 * What was killed shortly before heapwired's end is taken for its own.  The
 * count grows before it is seen who was killed, and helpers go before
 * heapwired: that of the last moment says nothing.
 */
#ifndef HW_OWN_KILLS_H
#define HW_OWN_KILLS_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"

enum { OWN_KILLS_STEP_MS = 10000 };

struct own_kills {
    struct stats_figure before; /* one to two steps ago, or at the start */
    struct stats_figure next;   /* at the last step */
    uint64_t step_ms;           /* when it was; monotonic, as now_ms */
};

/* Heapwired was started. */
void own_kills_start(struct own_kills *own, uint64_t now_ms,
                     struct stats_figure kills);
/* While it runs, now and then. */
void own_kills_follow(struct own_kills *own, uint64_t now_ms,
                      struct stats_figure kills);
/* When it has failed. */
uint64_t own_kills_of(const struct own_kills *own, struct stats_figure kills,
                      bool database_killed);

#endif
