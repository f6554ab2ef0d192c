/* process_facts.h - reads facts about a process from /proc, and counts those of
 * ours that the kernel killed. */
#ifndef HW_PROCESS_FACTS_H
#define HW_PROCESS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats.h"

pid_t process_parent(pid_t pid); /* -1: there is no such process */
/* Its effective user; -1: there is no such process. */
uid_t process_user(pid_t pid);
/* A child of ours that runs that executable, but not this one; 0: none. */
pid_t process_adopted(const char *exe, pid_t except);
/* Is its root directory another one?  root: what /proc calls it, cut to size.
 */
bool process_has_other_root(pid_t pid, char *root, size_t size);
/* Does a debugger hold it, which will let it go on? */
bool process_is_traced(pid_t pid);
bool process_is_stopped(pid_t pid);
/* Does it listen on a socket?  True also if that cannot be found out. */
bool process_may_serve(pid_t pid);

/* The process that the recorder's segment belongs to, if that has ended and is
 * not child (a script's program, for instance); 0: none.  segment -1: 0. */
pid_t process_recorded(int segment, pid_t child);

enum { OWN_KILLS_STEP_MS = 10000 };

/* Counts how many of the processes that the kernel killed for want of memory
 * were heapwired and its helpers: it takes those first.  What was killed
 * shortly before heapwired's end is taken for its own.  The count grows before
 * it is seen who was killed, and helpers go before heapwired, so the figure of
 * the last moment says nothing. */
struct own_kills {
    struct stats_figure before; /* one to two steps ago, or at the start */
    struct stats_figure next;   /* at the last step */
    uint64_t step_ms;           /* when it was; monotonic, as now_ms */
};

/* heapwired was started. */
void own_kills_start(struct own_kills *own, uint64_t now_ms,
                     struct stats_figure kills);
/* While it runs, now and then. */
void own_kills_follow(struct own_kills *own, uint64_t now_ms,
                      struct stats_figure kills);
/* heapwired has failed. */
uint64_t own_kills_of(const struct own_kills *own, struct stats_figure kills,
                      bool database_killed);

#endif
