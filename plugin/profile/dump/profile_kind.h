/* profile_kind.h - what the samples of a profile are of. */
#ifndef HW_PROFILE_KIND_H
#define HW_PROFILE_KIND_H

/* Kinds other than the heap have no counts "ever"; they count samples as
 * objects and nanoseconds as bytes. */
enum profile_kind {
    PROFILE_HEAP,
    PROFILE_CPU, /* time on the processor */
    PROFILE_WALL /* time of the clock, waiting or not */
};

#endif
