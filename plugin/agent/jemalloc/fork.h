/*
 * fork.h - profiling in the children that the database forks.
 *
 * A child without an agent would sample for its whole life, and nothing could
 * read or stop it: there, prof.active is switched off.  One that an agent is to
 * serve gets it back.  Children of vfork() live in their parent's memory, and
 * are left alone.
 */
#ifndef HW_FORK_H
#define HW_FORK_H

#include "mallctl.h"

/* From now on, for this jemalloc, which can profile.  To be called after it was
 * used: its own handlers of forks have to be there before ours. */
void fork_watch(mallctl_fn *mallctl);

/* In a child that is served: as it was in its parent. */
void fork_keep(void);

#endif
