/*
 * heap_join.h - one dump of two parts of its text, which were read each by
 * itself, on two cores.
 */
#ifndef HW_HEAP_JOIN_H
#define HW_HEAP_JOIN_H

struct heap_dump;

/* Adds to first, which has its first part alone, what second has, which is of
 * no use then but to be freed.  Stacks are not touched: a profile that takes
 * them renumbers them (heap_stacks_place).  What they point to is the first
 * part's, within whose limit both have to find room.  -1: no memory or past a
 * ceiling, and of no use are both. */
int heap_join(struct heap_dump *first, struct heap_dump *second);

#endif
