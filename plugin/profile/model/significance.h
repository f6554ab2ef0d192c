/*
 * significance.h - separates significant changes from chance.
 *
 * Among a hundred functions, five are two standard errors off by chance.  So
 * the more functions there are, the more errors are required: of a hundred
 * differences of a program that does not grow, one shows a change.
 */
#ifndef HW_SIGNIFICANCE_H
#define HW_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>

struct significance_change {
    double value, variance;
};

/* How many standard errors make a change of the list significant.  Equal
 * changes (a function with one caller) count once, unchanged ones not at all.
 * Sorts the list. */
double significance_errors(struct significance_change *list, size_t count);

/* What is shown as 0 is none. */
bool significance_is(double value, double variance, double errors);

#endif
