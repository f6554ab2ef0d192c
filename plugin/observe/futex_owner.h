/*
 * futex_owner.h - for which futex a thread waits, and who holds it.
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
    uint32_t value;       /* the word that it saw there */
    bool timed;           /* it gives up some time */
    bool plain;           /* FUTEX_WAIT for ever, as C libraries lock */
    bool kernel_knows_it; /* of priority inheritance: the word has the owner */
};

/* text: of /proc/PID/task/TID/syscall.  False: it waits for no futex. */
bool futex_wait_parse(const char *text, struct futex_wait *out);

/* The int before the futex, which may be unreadable (0), and those from it
 * on: a mutex of glibc. */
enum { FUTEX_BEFORE = 0, FUTEX_WORD = 1, FUTEX_WORDS = 11 };

/* The owner's tid, as its process counts; 0: these words are no such mutex, or
 * it was let go.  The caller checks that there is such a thread. */
int32_t futex_owner(const struct futex_wait *wait,
                    const uint32_t words[FUTEX_WORDS]);

/* Whether there being no such thread means that it has ended, with the mutex:
 * else these words may be another thing that looks like one by chance. */
bool futex_owner_is_sure(const struct futex_wait *wait,
                         const uint32_t words[FUTEX_WORDS], size_t threads);

#endif
