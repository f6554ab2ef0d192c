/*
 * probe.h - tests which calls the seccomp filters of this process allow: for
 * the agent, which must not try (confined.h).
 */
#ifndef HW_PROBE_H
#define HW_PROBE_H

/* confined_write's text, in out of CONFINED_TEXT bytes; "" without filters.
 * Starts children, which a filter may kill, and awaits them: call it while
 * there is one thread and no other child. */
void probe_filters(char *out);

#endif
