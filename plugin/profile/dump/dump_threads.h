/*
 * dump_threads.h - what jemalloc's heap profile has by thread:
 *
 *       t3: 1: 96 [0: 0] worker-1      before the stacks: a thread, with its
 *                                      name (5.3 on, if it has one)
 *       t3: 1: 96 [0: 0]               of a stack
 */
#ifndef HW_DUMP_THREADS_H
#define HW_DUMP_THREADS_H

#include "hash.h"
#include "heap_dump.h"
#include "reader.h"

/* State while a dump is parsed; zeroed at first, except for dump. */
struct dump_threads {
    struct heap_dump *dump; /* gets the threads and the shares */
    struct heap_thread *list;
    size_t capacity, share_capacity;
    struct hash_index numbers; /* of the threads in list */
};

/* jemalloc's number of a thread, and its name ("": none).  -1: no memory. */
int dump_threads_name(struct dump_threads *t, uint64_t number,
                      struct span name);
/* What that thread has of the dump's last stack.  -1: no memory. */
int dump_threads_share(struct dump_threads *t, uint64_t number,
                       uint64_t objects, uint64_t bytes);
void dump_threads_fini(struct dump_threads *t); /* the dump keeps what it got */

#endif
