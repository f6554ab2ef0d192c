/* thread_list.h - the threads that took samples, with their names. */
#ifndef HW_THREAD_LIST_H
#define HW_THREAD_LIST_H

#include <stdint.h>

/* Gives this thread a slot, recorder_local.thread.  Calls the kernel, once for
 * each thread.  If there is no room, counts a missed thread. */
void thread_list_join(uint64_t now_ns);

/* Reads the thread's name again, as it may have been given one meanwhile. */
void thread_list_name(void);

#endif
