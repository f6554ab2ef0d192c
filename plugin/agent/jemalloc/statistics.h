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
 * old, with their age and the kernel's figures of that moment.  Leaves out what
 * this jemalloc lacks.  0 or an errno. */
int statistics_write(struct jemalloc *jemalloc, int fd);

/* allocator_list.c: every jemalloc of the process, as text, to fd: a line each,
 * "key=value" between tabs, in which no other control byte is: object, mallctl,
 * version, variable, found (exported, symtab, scan, ...), note; and as 0 or 1
 * chosen, callable, config_prof, opt_prof, active, malloc, new (whether it
 * serves those of the process); allocated (bytes).  Unknown values are left
 * out.  0 or an errno. */
int allocator_list_write(struct jemalloc *jemalloc, int fd);

#endif
