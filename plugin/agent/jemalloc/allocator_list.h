/*
 * allocator_list.h - every jemalloc of the process, as text.
 *
 * A line each, "key=value" between tabs, in which no other control byte is:
 * object, mallctl, version, variable, found (exported, symtab, scan, ...),
 * note; and as 0 or 1 chosen, callable, config_prof, opt_prof, active, malloc,
 * new (whether it serves those of the process); allocated (bytes).  Unknown
 * values are left out.  Used by the agent's thread alone.
 */
#ifndef HW_ALLOCATOR_LIST_H
#define HW_ALLOCATOR_LIST_H

struct jemalloc;

/* Writes the list to fd.  0 or an errno. */
int allocator_list_write(struct jemalloc *jemalloc, int fd);

#endif
