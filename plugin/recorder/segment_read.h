/*
 * segment_read.h - a copy of a segment, and what it says.
 *
 * For the observer: of a program that runs, hangs, or is dead.  The copy takes
 * no more memory than the segment, and nothing in it is believed: what is out
 * of bounds is left out, and counted.  Any thread; a copy belongs to one.
 */
#ifndef HW_SEGMENT_READ_H
#define HW_SEGMENT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment.h"

struct error;
struct segment_copy;

/* All of these bytes of a file; false with errno. */
bool segment_read_range(int fd, void *to, uint64_t at, uint64_t size);

/* NULL with *err if there is nothing to be read; else the caller frees it. */
struct segment_copy *segment_read(int fd, struct error *err);
void segment_copy_free(struct segment_copy *copy); /* NULL is fine */

/* 0; or -1 with *err where entries were left out, for they cannot be. */
int segment_copy_check(const struct segment_copy *copy, struct error *err);

/* As it was when the copy was ready. */
const struct segment_header *
segment_copy_header(const struct segment_copy *copy);

/* How many entries of a part the copy has: the indexes of the functions below,
 * which are false where nothing is there.  Those of modules and threads are the
 * segment's own; those of stacks and samples (SEGMENT_SAMPLES) are
 * the copy's, without gaps, and its samples' stacks are such.  The first stack
 * is always there: that of the samples that lost theirs. */
uint32_t segment_copy_count(const struct segment_copy *copy,
                            enum segment_part_id part);

struct segment_stack_seen {
    uint32_t depth;
    double live_bytes, live_objects; /* estimated, without bias */
    double allocated_bytes, allocated_objects;
    double freed_bytes, freed_objects;
};
bool segment_copy_stack(const struct segment_copy *copy, uint32_t stack,
                        struct segment_stack_seen *seen);

/* The n-th frame of a stack, from within.  *module: its index, or UINT32_MAX.
 * False past the last. */
bool segment_copy_frame(const struct segment_copy *copy, uint32_t stack,
                        uint32_t n, uint64_t *pc, uint32_t *module);

/* A live sample; unused has no meaning.  Its thread's generation is that of the
 * thread's slot, or the thread has gone. */
bool segment_copy_sample(const struct segment_copy *copy, uint32_t index,
                         struct segment_sample *sample, double *weight);

bool segment_copy_module(const struct segment_copy *copy, uint32_t index,
                         struct segment_module *module);
bool segment_copy_thread(const struct segment_copy *copy, uint32_t index,
                         struct segment_thread *thread);

#endif
