/* profile_kind.h - what the samples of a profile are of. */
#ifndef HW_PROFILE_KIND_H
#define HW_PROFILE_KIND_H

/* Other kinds than the heap's have no "ever", and count their samples as
 * objects and their nanoseconds as bytes. */
enum profile_kind {
    PROFILE_HEAP,
    PROFILE_CPU, /* time on the processor */
    PROFILE_WALL /* time of the clock, waiting or not */
};

#endif
