/* segment_make.h - a new segment, for a program that is to be started. */
#ifndef HW_SEGMENT_MAKE_H
#define HW_SEGMENT_MAKE_H

struct segment_header;

/* A sealed memfd that begins with a planned header, without FD_CLOEXEC: it is
 * to be inherited.  -1 with errno. */
int segment_make(const struct segment_header *header);

#endif
