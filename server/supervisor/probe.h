/*
 * probe.h - what the filters allow that this process, and what it starts, runs
 * under: for the agent, which must not try (confined.h).
 */
#ifndef HW_PROBE_H
#define HW_PROBE_H

/* confined_write's text, in out of CONFINED_TEXT bytes; "" where there are no
 * filters.  Starts children, whom a filter may kill, and awaits them: to be
 * called while there is one thread and no other child. */
void probe_filters(char *out);

#endif
