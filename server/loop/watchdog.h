/*
 * watchdog.h - notices when the event loop stands still.
 *
 * One event of one session may take WATCHDOG_MS of the processor: whatever
 * takes longer is a worker's.  It is processor time, so a busy machine is no
 * fault.  All on the loop.
 */
#ifndef HW_WATCHDOG_H
#define HW_WATCHDOG_H

#include <stdint.h>
#include <uv.h>

enum {
    WATCHDOG_MS = 20,
    WATCHDOG_EVERY_MS = 5 /* the processor's clock is read no more often */
};

struct watchdog {
    uv_prepare_t turn;
    uint64_t wall_ns, cpu_ns; /* when the latter was read last; 0: never */
};

void watchdog_init(struct watchdog *dog, uv_loop_t *loop);
void watchdog_close(struct watchdog *dog);

/* An event has ended, of that connection; 0: of none.  A slow one is logged;
 * with HW_WATCHFUL, where all is slower, it aborts. */
void watchdog_mark(struct watchdog *dog, uint32_t connection);

#endif
