/* recorded_threads.h - the threads of a recorder's live samples. */
#ifndef HW_RECORDED_THREADS_H
#define HW_RECORDED_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "heap_threads.h"

struct arena;
struct segment_copy;
struct segment_sample;

struct recorded_threads {
    const struct segment_copy *copy;
    struct arena *arena; /* of the names and the list */
    /* The first entry stands for unknown threads: their slot in the segment has
     * gone to another thread, or they found none. */
    struct heap_thread *list;
    uint32_t count;
    uint32_t *numbers; /* by slot in the segment: of list; 0: not in it */
    bool *passed_on;   /* by slot: its tid is a younger thread's by now */
};

/* Call it with a zeroed struct.  -1: no memory. */
int recorded_threads_init(struct recorded_threads *threads,
                          const struct segment_copy *copy, struct arena *arena);
/* The list stays in arena. */
void recorded_threads_fini(struct recorded_threads *threads);

/* *number: that of the sample's thread in the list.  -1: no memory. */
int recorded_threads_find(struct recorded_threads *threads,
                          const struct segment_sample *sample,
                          uint32_t *number);

#endif
