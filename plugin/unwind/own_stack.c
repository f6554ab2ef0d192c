/*
 * own_stack.c - see own_stack.h.
 *
 * A walk needs to know how far it may read, at each sample and without
 * pthread_getattr_np(), which allocates, locks and reads /proc.  glibc keeps a
 * thread's control block (TLS) at the upper end of its stack; the kernel puts
 * AT_RANDOM's bytes at that of the main thread's.  From that end down to here
 * each page must be readable: another stack lies behind a guard page or a gap.
 * What was found stays true while the thread lives, so it is remembered, by the
 * end and not in thread-local memory, which the agent has none of.  The kernel
 * is asked by rt_sigprocmask, which reads the set of signals (EFAULT where it
 * cannot) before it refuses the unknown operation (EINVAL), and so changes
 * nothing.  At most PROBES_MAX system calls a sample.
 */
#include "own_stack.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PROBES_MAX = 64, /* a call probes; the next call goes on */
    KNOWN_STACKS = 1024,
    NO_SUCH_CHANGE = -1,
    SET_BYTES = 8,
    END_BITS = 6, /* low bits of an end that are dropped */
    PAGES_BITS = 23
};

/* A hash table by the stack's end: a word has the end (without END_BITS) and
 * the number of pages below it that are readable.  Words are read and written
 * whole, so no lock is needed; a thread that finds another's word in its slot
 * counts anew.  A word of a thread that ended may be taken over by one whose
 * stack is at the same place: glibc reuses stacks whole. */
static _Atomic uint64_t known[KNOWN_STACKS];

static uint64_t
thread_pointer(void)
{
    uint64_t pointer;

#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

bool
own_stack_is_readable(uint64_t address)
{
    return syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, address, NULL,
                   SET_BYTES) == 0 ||
           errno != EFAULT;
}

/* Probes further pages and remembers them; false: not all that are needed are
 * readable.  errno is the database's and is restored. */
static bool
probe_stack_pages(_Atomic uint64_t *word, uint64_t end, uint64_t pages,
                  uint64_t needed)
{
    const int error = errno;
    const uint64_t most = pages + PROBES_MAX;

    while (pages < needed && pages < most &&
           own_stack_is_readable((end / PAGE - pages - 1) * PAGE))
        pages++;
    atomic_store_explicit(word, end >> END_BITS << PAGES_BITS | pages,
                          memory_order_relaxed);
    errno = error;
    return pages == needed;
}

static uint64_t
main_stack_end(void)
{
    static _Atomic uint64_t end;
    uint64_t found = atomic_load_explicit(&end, memory_order_relaxed);

    if (found == 0) {
        found = getauxval(AT_RANDOM);
        atomic_store_explicit(&end, found, memory_order_relaxed);
    }
    return found;
}

uint64_t
own_stack_end(uint64_t here)
{
    uint64_t end = thread_pointer(), word, pages, needed;
    _Atomic uint64_t *place;

    /* above the control block: not this thread's own stack, so it can only be
     * the main thread's, whose block is not on the stack */
    if (here >= end)
        end = main_stack_end();
    end &= ~(((uint64_t)1 << END_BITS) - 1);
    if (here >= end)
        return 0;
    needed = end / PAGE - here / PAGE;
    /* 32 GiB: no stack is that deep */
    if (needed >> PAGES_BITS)
        return 0;
    place = &known[(end * 0x9e3779b97f4a7c15ULL >> 32) % KNOWN_STACKS];
    word = atomic_load_explicit(place, memory_order_relaxed);
    pages = word >> PAGES_BITS == end >> END_BITS
                ? word & (((uint64_t)1 << PAGES_BITS) - 1)
                : 0;
    return pages >= needed || probe_stack_pages(place, end, pages, needed) ? end
                                                                           : 0;
}
