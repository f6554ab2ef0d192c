/*
 * stack_headroom.c - see stack_headroom.h.
 *
 * A sample takes some KB of stack in a call that expects none, and overflowing
 * a small stack would crash the program.  Where a stack ends is not known:
 * programs bring their own, and swap them.  But it ends in a page that cannot
 * be read, and rt_sigprocmask() tells: it reads the set of signals first
 * (EFAULT), and then refuses the invalid operation (EINVAL) without changing
 * anything.
 */
#include "stack_headroom.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder_state.h"

enum {
    PAGE = 4096,
    STACK_HEADROOM = 2 * PAGE,
    NO_SUCH_CHANGE = -1,
    SET_BYTES = 8
};

static bool
is_stack_address_readable(uint64_t address)
{
    return syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, address, NULL,
                   SET_BYTES) == 0 ||
           errno != EFAULT;
}

bool
stack_has_headroom(uint64_t here)
{
    struct recorder_local *l = &recorder_local;
    uint64_t high = here / PAGE * PAGE, low = high - STACK_HEADROOM;
    uint64_t known_high = l->stack_low + l->stack_bytes;

    if (l->stack_low != 0 && low >= l->stack_low && high <= known_high)
        return true;
    for (uint64_t page = high - PAGE; page >= low; page -= PAGE) {
        if (!is_stack_address_readable(page))
            return false;
    }
    if (l->stack_low == 0 || low > known_high || high < l->stack_low ||
        known_high - low > UINT32_MAX || high - l->stack_low > UINT32_MAX) {
        l->stack_low = low; /* another stack, or far from the known part */
        l->stack_bytes = STACK_HEADROOM;
        return true;
    }
    if (low < l->stack_low)
        l->stack_low = low;
    l->stack_bytes =
        (uint32_t)((high > known_high ? high : known_high) - l->stack_low);
    return true;
}
