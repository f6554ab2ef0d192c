/*
 * futex_owner.c - see futex_owner.h.
 *
 * A deadlock is a circle of owners, and the owner of a mutex stands in the
 * memory of the process, in a layout of the C library's that is not documented.
 * So a word is taken for an owner only if all that is around it fits: known
 * kinds, a lock word that the waiting thread saw, counts that agree with the
 * kind.  A condition variable or a futex of the program's own fails these
 * tests, and then no owner is named.
 */
#include "futex_owner.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>

/* linux/futex.h of Debian 12 has it; older ones do not. */
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

bool
futex_wait_parse(const char *text, struct futex_wait *out)
{
    uint64_t operation, value, until;
    long number;

    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    if (sscanf(text, "%ld 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64,
               &number, &out->address, &operation, &value, &until) != 5 ||
        number != SYS_futex)
        return false;
    out->value = (uint32_t)value;
    out->timed = until != 0;
    operation &= FUTEX_CMD_MASK;
    out->kernel_knows_it =
        operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
    out->plain = operation == FUTEX_WAIT && !out->timed;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
           operation == FUTEX_WAIT_REQUEUE_PI || out->kernel_knows_it;
}

/* glibc's struct __pthread_mutex_s: lock, count, owner, users, kind
 * (nptl/pthreadP.h).  Mutexes of priority inheritance are asked of the kernel's
 * word instead. */
static int32_t
glibc_owner(const struct futex_wait *wait, const uint32_t *mutex)
{
    enum {
        RECURSIVE = 1,
        TYPE = 3,
        ROBUST = 16,
        INHERIT = 32,
        KNOWN = 0x3ff, /* type, robust, inherit, protect, shared, elision */
        CONTENDED = 2
    };
    uint32_t lock = mutex[0], count = mutex[1], owner = mutex[2];
    uint32_t users = mutex[3], kind = mutex[4];

    if ((kind & ~(uint32_t)KNOWN) != 0 || (kind & INHERIT) != 0 || users == 0)
        return 0;
    /* robust: the count is kept for each type, and the lock word has the
     * owner */
    if ((kind & ROBUST) != 0)
        return count > 0 && (lock & FUTEX_TID_MASK) == owner ? (int32_t)owner
                                                             : 0;
    if ((count > 0) != ((kind & TYPE) == RECURSIVE))
        return 0;
    return lock == CONTENDED && wait->value == CONTENDED ? (int32_t)owner : 0;
}

/* musl's pthread_mutex_t: _m_type, _m_lock, _m_waiters.  A normal mutex, type
 * 0, does not record its owner. */
static int32_t
musl_owner(const struct futex_wait *wait, const uint32_t *words)
{
    enum { TYPE = 15, SHARED = 128 };
    uint32_t type = words[FUTEX_BEFORE], lock = words[FUTEX_WORD];
    uint32_t waiters = words[FUTEX_WORD + 1];

    if ((type & ~(uint32_t)(TYPE | SHARED)) != 0 || (type & TYPE) == 0 ||
        waiters == 0 || waiters > FUTEX_TID_MASK || lock != wait->value ||
        (lock & FUTEX_WAITERS) == 0)
        return 0;
    return (int32_t)(lock & FUTEX_TID_MASK);
}

int32_t
futex_owner(const struct futex_wait *wait, const uint32_t words[FUTEX_WORDS])
{
    int32_t owner;

    if (wait->kernel_knows_it)
        return (int32_t)(words[FUTEX_WORD] & FUTEX_TID_MASK);
    owner = glibc_owner(wait, words + FUTEX_WORD);
    return owner != 0 ? owner : musl_owner(wait, words);
}

bool
futex_owner_is_sure(const struct futex_wait *wait,
                    const uint32_t words[FUTEX_WORDS], size_t threads)
{
    enum { USERS = 3, KIND = 4, TID_MAX = 1 << 22 };
    const uint32_t *mutex = words + FUTEX_WORD;
    /* the list links of robust mutexes, which the kernel unlocks when their
     * owner ends */
    uint32_t links = 0;

    for (size_t i = FUTEX_WORD + KIND + 2; i < FUTEX_WORDS; i++)
        links |= words[i];
    return wait->plain && mutex[USERS] <= threads && links == 0 &&
           futex_owner(wait, words) < TID_MAX;
}
