/* thread_list.h - the threads that took samples, with their names. */
#ifndef HW_THREAD_LIST_H
#define HW_THREAD_LIST_H

#include <stdint.h>

/* Gives this thread a slot: recorder_local.thread.  Calls the kernel, once.
 * Where there is no room, counts a sample of a thread without one. */
void thread_list_join(uint64_t now_ns);

/* Reads the thread's name again: one may have been given meanwhile. */
void thread_list_name(void);

#endif
