/* stack_headroom.h - whether the thread's stack has room for a backtrace. */
#ifndef HW_STACK_HEADROOM_H
#define HW_STACK_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Whether 8 KB below here are mapped.  Asks the kernel only if the thread is
 * deeper than before. */
bool stack_has_headroom(uint64_t here);

#endif
