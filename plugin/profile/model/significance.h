/*
 * significance.h - which changes chance alone does not explain.
 *
 * Whoever looks at a hundred functions finds five that are two standard errors
 * off, by chance.  So the more there are to look at, the further off one must
 * be: of a hundred differences of a program that does not grow one shows any.
 * Pure.
 */
#ifndef HW_SIGNIFICANCE_H
#define HW_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>

struct change {
    double value, variance;
};

/* Standard errors that one of these must be away from none.  Those that are
 * the same (a function that has one caller) count once, and what did not change
 * does not.  Sorts the list. */
double significance_errors(struct change *list, size_t count);

bool significance_is(double value, double variance, double errors);

#endif
