/* heap_join.h - joins two parts of a dump that two threads have read. */
#ifndef HW_HEAP_JOIN_H
#define HW_HEAP_JOIN_H

struct heap_dump;

/* Moves second's content into first, which has its first part only; then second
 * may only be freed.  Does not touch stacks: the profile that takes them
 * renumbers them (heap_stacks_place).  The indices of both must fit into the
 * first part's limit.  -1: no memory or past a ceiling; then both may only be
 * freed. */
int heap_join(struct heap_dump *first, struct heap_dump *second);

#endif
