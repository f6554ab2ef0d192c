/*
 * heap_threads.h - what a recorder's samples tell besides: thread and age.
 *
 * jemalloc's dumps do not have them.
 */
#ifndef HW_HEAP_THREADS_H
#define HW_HEAP_THREADS_H

#include <stddef.h>
#include <stdint.h>

enum {
    HEAP_THREADS_MAX = 1 << 16,
    HEAP_THREAD_NAME_MAX = 15, /* bytes, as Linux has them */
    HEAP_AGE_CLASSES = 8       /* classes of age, the youngest first */
};

struct heap_thread {
    uint32_t tid; /* 0: not known; name is "" then */
    const char *name;
};

struct heap_threads {
    const struct heap_thread *list;
    size_t count;
};

/* The class of an age, and what it is called: "1 s to 10 s". */
uint32_t heap_age_of(uint64_t age_ms);
const char *heap_age_name(uint32_t age);
/* The age, in seconds, at which the class begins. */
uint32_t heap_age_from_s(uint32_t age);

#endif
