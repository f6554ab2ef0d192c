/*
 * futex_owner.h - which futex a thread waits for, and who holds it.
 *
 * The kernel knows the address alone; what lies there is the C library's:
 * glibc's and musl's mutexes that name their owner are known.  Pure.
 */
#ifndef HW_FUTEX_OWNER_H
#define HW_FUTEX_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct futex_wait {
    uint64_t address;
    uint32_t value; /* the value that it expects there */
    bool timed;     /* the wait has a timeout */
    /* FUTEX_WAIT without a timeout, as C libraries lock */
    bool plain;
    /* of priority inheritance: the kernel keeps the owner in the word */
    bool kernel_knows_it;
};

/* text is /proc/PID/task/TID/syscall.  False: the thread waits for no futex. */
bool futex_wait_parse(const char *text, struct futex_wait *out);

/* What is read of a mutex: the int before the futex, 0 if unreadable, and those
 * from the futex on. */
enum { FUTEX_BEFORE = 0, FUTEX_WORD = 1, FUTEX_WORDS = 11 };

/* The owner's tid in the process's own pid namespace; 0: these words are no
 * known mutex, or it was unlocked.  The caller checks that there is such a
 * thread. */
int32_t futex_owner(const struct futex_wait *wait,
                    const uint32_t words[FUTEX_WORDS]);

/* Whether an owner that does not exist means that it ended with the mutex
 * locked.  If false, the words may merely look like a mutex by chance. */
bool futex_owner_is_sure(const struct futex_wait *wait,
                         const uint32_t words[FUTEX_WORDS], size_t threads);

#endif
