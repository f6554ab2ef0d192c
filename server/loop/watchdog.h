/*
 * watchdog.h - notices when the event loop stands still.
 *
 * One event of one session may take WATCHDOG_MS of processor time: longer work
 * belongs on a worker.  A busy machine is no fault.  All on the loop.
 */
#ifndef HW_WATCHDOG_H
#define HW_WATCHDOG_H

#include <stdint.h>
#include <uv.h>

enum {
    WATCHDOG_MS = 20,
    WATCHDOG_EVERY_MS = 5 /* reads the processor's clock no more often */
};

struct watchdog {
    uv_prepare_t turn;
    uint64_t wall_ns, cpu_ns; /* when the latter was read last; 0: never */
};

void watchdog_init(struct watchdog *dog, uv_loop_t *loop);
void watchdog_close(struct watchdog *dog);

/* An event has ended, of that connection (0: none). Logs a slow one; with
 * HW_WATCHFUL, which allows for a slower program, it aborts. */
void watchdog_mark(struct watchdog *dog, uint32_t connection);

#endif
