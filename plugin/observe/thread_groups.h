/*
 * thread_groups.h - threads with equal stacks.
 *
 * Those without a stack are one group for each reason.  Pure.
 */
#ifndef HW_THREAD_GROUPS_H
#define HW_THREAD_GROUPS_H

#include <stddef.h>
#include <stdint.h>

struct thread_entry;
struct thread_list;

struct thread_group {
    /* Ascending by tid; borrowed from the list. */
    const struct thread_entry *const *threads;
    size_t count; /* at least 1 */
};

struct thread_groups {
    struct thread_group *list; /* the largest first, then by their first tid */
    size_t count;
    /* the groups' arrays, one after the other */
    const struct thread_entry **threads;
};

/* -1: no memory. */
int thread_groups_init(struct thread_groups *groups,
                       const struct thread_list *list);
void thread_groups_fini(struct thread_groups *groups); /* zeroed is fine */

/* Sets of[i] to the group of thread i of the list, for all threads. */
void thread_groups_each(const struct thread_groups *groups,
                        const struct thread_list *list,
                        const struct thread_group **of);

#endif
