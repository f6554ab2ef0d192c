/* waste_work.h - the parts of waste_fill(). */
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
    double sizes[WASTE_CLASSES_MAX]; /* of the classes, bytes */
    double have[WASTE_CLASSES_MAX];  /* objects of all stacks */
};

/* Makes room for so many parts.  -1: no memory. */
int waste_work_reserve(struct waste_work *work, size_t parts);
/* Appends a part, if there is room. */
void waste_work_add(struct waste_work *work, const struct waste_part *part);

/* waste_means.c: the parts of a dump of jemalloc's.  -1: no memory. */
int waste_means(struct waste_work *work);

#endif
