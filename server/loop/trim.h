/*
 * trim.h - returns memory that statements have freed to the kernel.
 *
 * The C library keeps what is freed in the middle of its heaps for ever, for
 * each thread's heap.  All on the loop, except for the trim itself.
 */
#ifndef HW_TRIM_H
#define HW_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "workers.h"

enum {
    TRIM_MS = 2000,        /* from the first that was freed until a trim */
    TRIM_BYTES = 24 << 20, /* below this, a trim is not worth it */
    TRIM_ALONE =
        1 << 20 /* a larger block goes to the kernel when it is freed */
};

struct trim {
    struct worker_job job; /* first */
    uv_timer_t timer;
    bool begun, closed;
};

void trim_init(struct trim *trim, uv_loop_t *loop, struct workers *workers);
void trim_close(struct trim *trim);

/* Something that may have been large was freed. */
void trim_note(struct trim *trim);

#endif
