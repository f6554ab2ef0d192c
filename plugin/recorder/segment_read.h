/*
 * segment_read.h - a copy of a segment, and what it says.
 *
 * For the observer; the program may run, hang, or be dead.  The copy takes no
 * more memory than the segment.  Its content is untrusted: entries that are out
 * of bounds are left out, and counted.  Any thread; a copy belongs to one.
 */
#ifndef HW_SEGMENT_READ_H
#define HW_SEGMENT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment.h"

struct error;
struct segment_copy;

/* Reads all of these bytes of a file; false with errno. */
bool segment_read_range(int fd, void *to, uint64_t at, uint64_t size);

/* NULL with *err if there is nothing to be read; else the caller frees it. */
struct segment_copy *segment_read(int fd, struct error *err);
void segment_copy_free(struct segment_copy *copy); /* NULL is fine */

/* 0, or -1 with *err if impossible entries were left out. */
int segment_copy_check(const struct segment_copy *copy, struct error *err);

/* The header as of the end of the copying. */
const struct segment_header *
segment_copy_header(const struct segment_copy *copy);

/* The number of entries of a part that the copy has.  The functions below take
 * indexes less than that, and return false where there is no entry.  Indexes of
 * modules and threads are those of the segment; stacks and samples
 * (SEGMENT_SAMPLES) are numbered anew without gaps, and a sample's stack is
 * such a number.  Stack 0 always exists: that of samples whose own stack was
 * lost. */
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

/* The n-th frame of a stack, innermost first.  *module is its module's index,
 * or UINT32_MAX.  False past the last. */
bool segment_copy_frame(const struct segment_copy *copy, uint32_t stack,
                        uint32_t n, uint64_t *pc, uint32_t *module);

/* A live sample; its member unused has no meaning.  If its thread's generation
 * is not that of the thread's slot, the thread has ended. */
bool segment_copy_sample(const struct segment_copy *copy, uint32_t index,
                         struct segment_sample *sample, double *weight);

bool segment_copy_module(const struct segment_copy *copy, uint32_t index,
                         struct segment_module *module);
bool segment_copy_thread(const struct segment_copy *copy, uint32_t index,
                         struct segment_thread *thread);

#endif
