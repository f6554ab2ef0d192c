/* thread_work.h - the parts of threads_take(). */
#ifndef HW_THREAD_WORK_H
#define HW_THREAD_WORK_H

struct error;
struct thread_list;
struct threads_options;

/* thread_waits.c: who waits for whom.  -1: no memory. */
int thread_waits_find(struct thread_list *list, struct error *err);

/* thread_stacks.c */
int thread_stacks_take(struct thread_list *list,
                       const struct threads_options *options,
                       struct error *err);

#endif
