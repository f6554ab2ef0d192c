/*
 * waste_spread.h - how many objects of each size class stacks have of which
 * only the number and the mean size are known.
 */
#ifndef HW_WASTE_SPREAD_H
#define HW_WASTE_SPREAD_H

#include <stddef.h>

/* Stacks of about the same mean. */
struct spread_group {
    double objects, mean; /* mean is in bytes */
    double tilt;          /* 0 at first */
    double *shares;       /* the result: shares of the objects, by class */
};

/* sizes ascend; weights is scratch with room for as many. */
void waste_spread(const double *sizes, const double *regions, size_t classes,
                  struct spread_group *groups, size_t count, double *weights);

/* The largest part of objects with that mean which may be of that size, if all
 * sizes lie from smallest to largest. */
double spread_most(double mean, double size, double smallest, double largest);

#endif
