/* thread_work.h - the parts of threads_take(). */
#ifndef HW_THREAD_WORK_H
#define HW_THREAD_WORK_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct thread_list;
struct threads_options;

/* Of /proc/PID/task, open at dir: the thread's file, cut to room.  -1: it
 * cannot be read. */
int thread_file_read(int dir, int32_t tid, const char *name, char *text,
                     size_t room);

/* For qsort: entries by tid. */
int thread_compare(const void *left, const void *right);

/* thread_waits.c: who waits for whom.  -1: no memory. */
int thread_waits_find(struct thread_list *list, int dir, struct error *err);

/* thread_stacks.c */
int thread_stacks_take(struct thread_list *list,
                       const struct threads_options *options,
                       struct error *err);

#endif
