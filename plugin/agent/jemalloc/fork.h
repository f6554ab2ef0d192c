/*
 * fork.h - profiling in the children that the database forks.
 *
 * Nothing could read or stop sampling in a child without an agent, so
 * prof.active is switched off in children, and back on in a child with an
 * agent.  Children of vfork() share their parent's memory and stay as they are.
 */
#ifndef HW_FORK_H
#define HW_FORK_H

#include "mallctl.h"

/* Registers the handlers for a jemalloc that can profile.  Call it after the
 * first use of that jemalloc, whose own fork handlers must come before ours. */
void fork_watch(mallctl_fn *mallctl);

/* In a child with an agent: restores the parent's prof.active. */
void fork_keep(void);

#endif
