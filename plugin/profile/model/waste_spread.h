/*
 * waste_spread.h - how many objects of each size class stacks have of which
 * only the number and the mean size are known.
 */
#ifndef HW_WASTE_SPREAD_H
#define HW_WASTE_SPREAD_H

#include <stddef.h>

/* Stacks of about the same mean. */
struct spread_group {
    double objects, mean; /* mean: bytes */
    double tilt;          /* 0 at first */
    double *shares;       /* of the objects, by class: what is found */
};

/*
 * Of all spreads that have each group's number and mean, and in sum the
 * regions of each class, the one of greatest entropy: nothing is assumed but
 * what is known.  It is found by scaling, in rounds, each group's shares so
 * that its mean is right (an exponential tilt of the classes' weights) and each
 * class's weight so that its sum is (iterative proportional fitting).  Where
 * the regions are more than the groups' objects, the rest is nobody's, of any
 * size; where they contradict each other, the groups' means win.
 *
 * sizes: ascending.  weights: room for as many.
 */
void waste_spread(const double *sizes, const double *regions, size_t classes,
                  struct spread_group *groups, size_t count, double *weights);

/* The largest part of objects of that mean that may be of the size, where all
 * lie from smallest to largest. */
double spread_most(double mean, double size, double smallest, double largest);

#endif
