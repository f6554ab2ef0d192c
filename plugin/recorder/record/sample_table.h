/*
 * sample_table.h - the live samples: found by address, by all threads at once.
 *
 * A block's address has two buckets of eight keys, and lies in either: a lookup
 * reads two cache lines, and removal leaves no tombstone.  No lock; segment.h
 * has the order of stores.
 */
#ifndef HW_SAMPLE_TABLE_H
#define HW_SAMPLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

/* Inserts a copy of the sample, replacing one with the same key.  False: no
 * room. */
bool sample_insert(const struct segment_sample *sample);

/* Removes a sample if its slot still has this key.  size is that of its
 * fields. */
bool sample_clear(uint32_t slot, uint64_t key, uint64_t size);

/* Removes the sample of a block, if it has one, into *sample. */
bool sample_remove(const void *block, struct segment_sample *sample);

/* As sample_remove(), but the slot stays claimed until sample_put_back() or
 * sample_drop().  Returns the slot + 1; 0: the block has no sample. */
uint32_t sample_claim_realloc(const void *block, struct segment_sample *sample);
void sample_put_back(const void *block, uint32_t claimed);
void sample_drop(const struct segment_sample *sample, uint32_t claimed);

#endif
