/* waste_work.h - waste_fill()'s state while it fills in the parts. */
#ifndef HW_WASTE_WORK_H
#define HW_WASTE_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "waste.h"

struct profile;
struct profile_stack;

struct waste_work {
    struct profile *profile;
    struct waste *waste;
    struct profile_stack *stacks;
    size_t capacity;                 /* of parts */
    double sizes[WASTE_CLASSES_MAX]; /* bytes, by class */
    /* objects that all stacks have, by class */
    double have[WASTE_CLASSES_MAX];
};

/* Makes room for that many parts.  -1: no memory. */
int waste_work_reserve(struct waste_work *work, size_t parts);
/* Appends a part, if there is room. */
void waste_work_add(struct waste_work *work, const struct waste_part *part);

/* Adds the parts of jemalloc's dump (waste_means.c).  -1: no memory. */
int waste_means(struct waste_work *work);

#endif
