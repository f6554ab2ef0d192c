/*
 * trim.h - returns memory that statements have freed to the kernel.
 *
 * The C library keeps what is freed in the middle of its heaps for ever, for
 * each thread's heap.  With the loop's lock, except for the trim itself.
 */
#ifndef HW_TRIM_H
#define HW_TRIM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TRIM_MS = 2000,        /* from the first that was freed until a trim */
    TRIM_BYTES = 24 << 20, /* below this, a trim is not worth it */
    TRIM_MMAP_THRESHOLD =
        1 << 20 /* a larger block goes to the kernel when it is freed */
};

struct trim {
    uint64_t due_ms; /* clock_ms; 0: nothing was freed */
};

void trim_init(void);

/* Something that may have been large was freed. */
void trim_note(struct trim *trim, uint64_t now_ms);
/* True: trim_run() is due, and worth it.  Only memory freed from then on makes
 * the next one due. */
bool trim_take(struct trim *trim, uint64_t now_ms);
/* Takes milliseconds in a large heap; not with the lock. */
void trim_run(void);

#endif
