/*
 * start.h - what start.c and entry.c share: the agent of this process.
 *
 * For the thread that starts the program and for a fork's child, in both of
 * which there is no other thread; all others go through heapwire.h.
 */
#ifndef HW_START_H
#define HW_START_H

#include "agent.h"

/* Takes the settings from an environment; 0, E2BIG, or EINVAL where they lack a
 * usable state directory. */
int agent_take_environment(char *const *envp);

/* Starts the thread with the settings there are and the jemalloc that is found
 * now; on_fork is called in the children of this process. */
int agent_start_early(void (*on_fork)(void));

/* The first thing in a fork's child. */
void agent_forked(void);

/* In a fork's child whose parent is about to leave: starts one like its. */
int agent_start_survivor(void);

#endif
