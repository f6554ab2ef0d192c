/*
 * trim.h - gives the memory that statements leave back to the kernel.
 *
 * The C library keeps what is freed in the middle of its heaps, for ever and of
 * every thread's heap.  All on the loop, but for the giving back.
 */
#ifndef HW_TRIM_H
#define HW_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "workers.h"

enum {
    TRIM_MS = 2000,        /* from the first that was freed until a trim */
    TRIM_BYTES = 24 << 20, /* with less in memory it is not worth it */
    TRIM_ALONE = 1 << 20   /* a block so large is the kernel's once freed */
};

struct trim {
    struct worker_job job;
    struct workers *workers;
    uv_timer_t timer;
    bool closed;
};

void trim_init(struct trim *trim, uv_loop_t *loop, struct workers *workers);
void trim_close(struct trim *trim);

/* Something that may have been large was freed. */
void trim_note(struct trim *trim);

#endif
