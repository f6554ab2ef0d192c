/*
 * thread_text.h - the stacks of threads for people.
 *
 *     deadlock 1: 41 (flush) waits for the mutex 0x55d0 of 42 (commit)
 *     deadlock 1: 42 (commit) waits for the mutex 0x5610 of 41 (flush)
 *
 *     2 tids: 43:worker, 44:worker
 *     state: S futex_wait_queue
 *     waits: for the mutex 0x55d0 of 42 (commit)
 *     #0  0x00007f0d8a4e6e56 __futex_abstimed_wait_common  futex.c:57
 *     #1  (inlined)          take  queue.c:12
 *     #2  0x000055d0aa1103f4 work  queue.c:40
 *
 *     44 threads, 3 different stacks, ...
 *
 * The first line of a group's block is as StarRocks has it.
 * Names and files are clean.  Pure.
 */
#ifndef HW_THREAD_TEXT_H
#define HW_THREAD_TEXT_H

#include <stdint.h>

#include "reader.h"

struct buffer;
struct error;
struct thread_entry;
struct thread_list;

enum { THREAD_TEXT_MAX = 32 << 20 }; /* bytes: a ceiling for out */

struct thread_text_options {
    int32_t tid; /* only this thread; 0: all */
    /* Only stacks in which a function's name contains this, and deadlocks of
     * their threads; size 0: all. */
    struct span function;
};

/* options NULL: all.  -1 with *err: no memory, past out's ceiling, or there is
 * no such thread. */
int thread_text_write(const struct thread_list *list,
                      const struct thread_text_options *options,
                      struct buffer *out, struct error *err);

/* Appends the lines of one stack; nothing if it has none. */
void thread_stack_write(const struct thread_list *list,
                        const struct thread_entry *entry, struct buffer *out);
/* "root;...;leaf" */
void thread_folded_write(const struct thread_list *list,
                         const struct thread_entry *entry, struct buffer *out);

#endif
