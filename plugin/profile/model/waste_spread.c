/* waste_spread.c - see waste_spread.h. */
#include "waste_spread.h"

#include <math.h>

enum {
    TURNS = 16, /* of scaling; what is left over is far below the error */
    HALVINGS = 48
};

#define TILT_MOST 1e4 /* by the mean: enough between neighbours */

/* Shares by a tilt; returns their mean, in means of the group. */
static double
tilt_shares(const double *sizes, const double *weights, size_t classes,
            double tilt, struct spread_group *group)
{
    double sum = 0, mean = 0, most = -INFINITY;

    for (size_t i = 0; i < classes; i++)
        if (weights[i] > 0)
            most = fmax(most, tilt * (sizes[i] / group->mean));
    for (size_t i = 0; i < classes; i++) {
        double size = sizes[i] / group->mean;

        group->shares[i] =
            weights[i] > 0 ? weights[i] * exp(tilt * size - most) : 0;
        sum += group->shares[i];
        mean += group->shares[i] * size;
    }
    for (size_t i = 0; i < classes && sum > 0; i++)
        group->shares[i] /= sum;
    return sum > 0 ? mean / sum : 0;
}

/* A mean below or above all weighted classes is as near as it gets. */
static void
fit_group(const double *sizes, const double *weights, size_t classes,
          struct spread_group *group)
{
    double low = -TILT_MOST, high = TILT_MOST;

    for (int i = 0; i < HALVINGS; i++) {
        double tilt = low + (high - low) / 2;

        if (tilt_shares(sizes, weights, classes, tilt, group) < 1)
            low = tilt;
        else
            high = tilt;
    }
}

void
waste_spread(const double *sizes, const double *regions, size_t classes,
             struct spread_group *groups, size_t count, double *weights)
{
    double all = 0, rest = 0, sum;

    for (size_t i = 0; i < classes; i++) {
        weights[i] = regions[i];
        rest += regions[i];
    }
    for (size_t g = 0; g < count; g++)
        all += groups[g].objects;
    rest = rest > all ? rest - all : 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t g = 0; g < count; g++)
            fit_group(sizes, weights, classes, &groups[g]);
        if (turn == TURNS - 1)
            break;
        sum = 0;
        for (size_t i = 0; i < classes; i++)
            sum += weights[i];
        for (size_t i = 0; i < classes; i++) {
            double have = sum > 0 ? rest * weights[i] / sum : 0;

            for (size_t g = 0; g < count; g++)
                have += groups[g].objects * groups[g].shares[i];
            if (have > 0)
                weights[i] *= regions[i] / have;
        }
    }
}

double
spread_most(double mean, double size, double smallest, double largest)
{
    if (size > mean)
        return size > smallest ? fmax(0, (mean - smallest) / (size - smallest))
                               : 0;
    if (size < mean)
        return largest > size ? fmin(1, (largest - mean) / (largest - size))
                              : 0;
    return 1;
}
