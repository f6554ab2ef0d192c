/*
 * watchdog.h - notices when the event loop stands still.
 *
 * One event of one session may take WATCHDOG_MS of processor time under the
 * loop's lock: longer work leaves the loop.  A busy machine is no fault.
 * Called by the thread that leads, with the lock.
 */
#ifndef HW_WATCHDOG_H
#define HW_WATCHDOG_H

#include <stdint.h>

enum {
    WATCHDOG_MS = 20,     /* processor time of one event */
    WATCHDOG_EVERY_MS = 5 /* reads the processor's clock no more often */
};

struct watchdog {
    uint64_t read_ms, cpu_ns; /* when the latter was read last; 0: never */
};

/* Another thread leads from now on. */
void watchdog_begin(struct watchdog *dog);

/* An event has ended, of that connection (0: none). Logs a slow one; with
 * HW_WATCHFUL, which allows for a slower program, it aborts. */
void watchdog_mark(struct watchdog *dog, uint32_t connection);

#endif
