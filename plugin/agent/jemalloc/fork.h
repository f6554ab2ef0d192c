/*
 * fork.h - profiling in the children that the database forks.
 *
 * A child without an agent would sample all its life, and nothing could read or
 * stop that: so prof.active is switched off in children.  A child that an agent
 * is to serve gets it back.  Children of vfork() share their parent's memory
 * and stay as they are.
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
