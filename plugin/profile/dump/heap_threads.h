/*
 * heap_threads.h - the threads of a heap's samples, their pools and ages.
 *
 * A recorder notes thread and age of each sample; jemalloc's dumps have sums by
 * thread, under numbers of its own.
 */
#ifndef HW_HEAP_THREADS_H
#define HW_HEAP_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAP_THREADS_MAX = 1 << 16,
    HEAP_THREAD_NAME_MAX = 15, /* bytes, as Linux has them */
    HEAP_AGE_CLASSES = 8       /* classes of age, the youngest first */
};

struct heap_thread {
    uint32_t tid;     /* 0: not known */
    const char *name; /* "": not known */
    /* 1 + jemalloc's number; 0: none, as in a recorder's dump */
    uint64_t number;
};

struct heap_threads {
    const struct heap_thread *list;
    size_t count;
    bool numbered; /* by jemalloc: no tids, and no ages */
};

/* The pool of a thread: its name with each number replaced by one '*'. Digits
 * before a letter, as in h2o, are no number.  The pool of "" is "". */
void heap_thread_pool(const char *name, char out[HEAP_THREAD_NAME_MAX + 1]);

/* The class of an age, and what it is called: "1 s to 10 s". */
uint32_t heap_age_of(uint64_t age_ms);
const char *heap_age_name(uint32_t age);
/* The age, in seconds, at which the class begins. */
uint32_t heap_age_from_s(uint32_t age);

#endif
