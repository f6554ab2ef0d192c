/*
 * segment_layout.h - where the parts of a segment lie: planned and checked.
 *
 * Pure.  Used by the starter, the recorder inside the host, and the observer:
 * no dependency but libc.
 */
#ifndef HW_SEGMENT_LAYOUT_H
#define HW_SEGMENT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment.h"

enum { SEGMENT_BYTES_MAX = 1 << 30 };

struct segment_capacity {
    uint32_t modules, stacks, frames, samples, threads;
};

/* What a database needs: 40,000 live samples; 5 MB of memory when all are
 * used. */
struct segment_capacity segment_capacity_default(void);

/* The header of an empty segment; its settings are off.  False if it is too
 * large.
 */
bool segment_plan(const struct segment_capacity *capacity,
                  struct segment_header *header);

/* NULL, or what is wrong with a header that was found in size bytes. */
const char *segment_check(const struct segment_header *header, uint64_t size);

/* The seals of a segment: the recorder refuses what lacks one. */
int segment_seals(void);

#endif
