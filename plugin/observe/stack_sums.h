/*
 * stack_sums.h - the samples of a profile of time, summed up by stack as they
 * arrive.
 */
#ifndef HW_STACK_SUMS_H
#define HW_STACK_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "heap_dump.h"

struct error;
struct stack_sums;

enum { STACK_SUMS_BYTES_MAX = 256 << 20 };

struct stack_sums *stack_sums_new(void);       /* NULL: no memory */
void stack_sums_free(struct stack_sums *sums); /* NULL is fine */

/* Adds one sample, leaf first; depth may be 0.  -1 with *err: no memory.  Past
 * the ceilings of heap_dump.h a new stack is counted as an empty one. */
int stack_sums_add(struct stack_sums *sums, const uint64_t *addresses,
                   size_t depth, uint64_t nanoseconds, struct error *err);

/* Samples whose stack was beyond the ceilings. */
uint64_t stack_sums_left_out(const struct stack_sums *sums);

/* All sums as a dump of that kind (heap_dump.h), without mappings.  NULL with
 * *err. */
struct heap_dump *stack_sums_dump(const struct stack_sums *sums,
                                  enum profile_kind kind, struct error *err);

#endif
