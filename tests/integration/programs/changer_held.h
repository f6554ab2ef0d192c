/*
 * changer_held.h - steps of changer.c in which a thread is held somewhere, by a
 * child that traces it.  0: as it should be.
 */
#ifndef HW_CHANGER_HELD_H
#define HW_CHANGER_HELD_H

/* Holds the agent's thread, as a dump does, for so many seconds or until it is
 * released. */
int hold_agent(int seconds);
int release_agent(void);

/* A filter that does not come, while another thread begins to change its root
 * directory before and ends in between. */
int filter_in_between(void);

/* Closes all descriptors while another thread changes its root directory, and
 * opens others, which must stay. */
int files_in_between(void);

/* Calls stop(), which is to return result, while another thread changes its
 * root directory. */
int stop_in_between(int (*stop)(void), int result);

/* Puts on a filter meanwhile: by filter(), which returns 0. */
int confine_in_between(int (*filter)(void));

/* Changes what concerns all threads, twice, in at most ms. */
int change_within(long ms);

/* The agent's thread waits at its end, as for malloc's lock, which a thread
 * holds whose signal handler changes ids. */
int change_where_it_cannot_end(void);

#endif
