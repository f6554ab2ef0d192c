/*
 * statistics.h - all that jemalloc counts, as text.
 *
 * Lines "name value", named as mallctl names them.  Used by the agent's thread
 * alone.
 */
#ifndef HW_STATISTICS_H
#define HW_STATISTICS_H

struct jemalloc;

/* Refreshes jemalloc's figures, unless they are at most a second old. */
int statistics_refresh(struct jemalloc *jemalloc);

/* Writes the figures to fd, those of the last dump once, else at most a second
 * old, with their age and the
 * kernel's figures of that moment.  Leaves out what this jemalloc lacks.  0 or
 * an errno. */
int statistics_write(struct jemalloc *jemalloc, int fd);

#endif
