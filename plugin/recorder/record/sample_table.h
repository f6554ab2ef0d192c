/*
 * sample_table.h - the live samples: found by address, by all threads at once.
 *
 * A block's address has two buckets of eight keys, and lies in either: a
 * look-up reads two cache lines, and removal leaves nothing behind.  No lock;
 * segment.h has the order of stores.
 */
#ifndef HW_SAMPLE_TABLE_H
#define HW_SAMPLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

/* Inserts a copy of the sample, replacing one of that key.  False: no room. */
bool sample_insert(const struct segment_sample *sample);

/* Takes a sample out if its slot still has this key, and those fields. */
bool sample_clear(uint32_t slot, uint64_t key, uint64_t size);

/* Takes the sample of a block out, if it has one, into *sample. */
bool sample_remove(const void *block, struct segment_sample *sample);

/* As sample_remove(), but its slot stays taken: for sample_put_back(), or
 * sample_drop().  The slot + 1; 0: it has none. */
uint32_t sample_claim_realloc(const void *block, struct segment_sample *sample);
void sample_put_back(const void *block, uint32_t claimed);
void sample_drop(const struct segment_sample *sample, uint32_t claimed);

#endif
