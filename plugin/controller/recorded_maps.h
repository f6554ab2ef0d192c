/* recorded_maps.h - where the files lay of a process that cannot be asked. */
#ifndef HW_RECORDED_MAPS_H
#define HW_RECORDED_MAPS_H

#include <stdbool.h>

struct buffer;
struct error;
struct objects;
struct segment_copy;

/* Appends the recorder's modules as the text of /proc/<pid>/maps, code alone,
 * and gives objects their files: those that still lie at their path, with the
 * same build-id.  *complete: none is missing.  -1 with *err without memory. */
int recorded_maps(const struct segment_copy *copy, struct objects *objects,
                  struct buffer *out, bool *complete, struct error *err);

#endif
