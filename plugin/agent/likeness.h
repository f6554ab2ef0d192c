/*
 * likeness.h - whether our thread may do more than the host's main thread.
 *
 * A host may change its ids or its sandbox past libc, or where we are not
 * preloaded.  Once a second the thread compares itself with the main one, gives
 * up what it has beyond that, and must end where it cannot.
 */
#ifndef HW_LIKENESS_H
#define HW_LIKENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct likeness {
    int64_t due_ms; /* monotonic */
    bool more;      /* at the last look, too: it was no moment in between */
    bool apart;     /* it cannot be like the main thread */
};

/* Milliseconds until the next look.  calls (enum confined_call) are those that
 * may be made under so many filters. */
int likeness_tick(struct likeness *likeness, int filters, unsigned calls);

/* Whether two threads of this process have the same ids, capabilities and
 * filters.  One thread at a time: the host's may have little stack. */
bool likeness_same(pid_t a, pid_t b);

#endif
