/* significance.c - see significance.h. */
#include "significance.h"

#include <math.h>
#include <stdlib.h>

/* That any of them differs, by chance. */
#define RISK  0.01
#define LEAST 0.5 /* of a byte or an object: less is shown as 0 */

static int
compare(const void *a, const void *b)
{
    const struct significance_change *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->variance < y->variance ? -1 : x->variance > y->variance;
}

static size_t
distinct(struct significance_change *list, size_t count)
{
    size_t found = 0;

    if (count > 0)
        qsort(list, count, sizeof(*list), compare);
    for (size_t i = 0; i < count; i++)
        found += list[i].variance > 0 &&
                 (i == 0 || compare(&list[i - 1], &list[i]) != 0);
    return found;
}

/* Sidak's share of the risk for each, then the normal law's quantile. */
double
significance_errors(struct significance_change *list, size_t count)
{
    size_t tests = distinct(list, count);
    double risk = -expm1(log1p(-RISK) / (double)(tests ? tests : 1));
    double low = 0, high = 40;

    while (high - low > 1e-9) {
        double middle = (low + high) / 2;

        if (erfc(middle / sqrt(2)) > risk)
            low = middle;
        else
            high = middle;
    }
    return high;
}

bool
significance_is(double value, double variance, double errors)
{
    /* A sum of equal parts may differ from 0 by rounding. */
    return fabs(value) >= LEAST && fabs(value) >= errors * sqrt(variance);
}
