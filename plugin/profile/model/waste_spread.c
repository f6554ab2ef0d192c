/* waste_spread.c - see waste_spread.h. */
#include "waste_spread.h"

#include <math.h>

enum {
    SCALING_ROUNDS =
        8,     /* of scaling; what is left over is far below the error */
    STEPS = 48 /* at most, to a group's tilt; five are usual */
};

#define TILT_MOST 1e4 /* by the mean: enough between neighbours */
#define NEAR      1e-9

/* Shares by a tilt; returns their mean, in means of the group. */
static double
tilt_shares(const double *sizes, const double *weights, size_t classes,
            struct spread_group *group, double *variance)
{
    double sum = 0, mean = 0, square = 0, most = -INFINITY;

    for (size_t i = 0; i < classes; i++)
        if (weights[i] > 0)
            most = fmax(most, group->tilt * (sizes[i] / group->mean));
    for (size_t i = 0; i < classes; i++) {
        double size = sizes[i] / group->mean, share = 0;

        if (weights[i] > 0)
            share = weights[i] * exp(group->tilt * size - most);
        group->shares[i] = share;
        sum += share;
        mean += share * size;
        square += share * size * size;
    }
    for (size_t i = 0; i < classes && sum > 0; i++)
        group->shares[i] /= sum;
    mean = sum > 0 ? mean / sum : 0;
    *variance = sum > 0 ? square / sum - mean * mean : 0;
    return mean;
}

/*
 * The variance is how fast the mean grows with the tilt: Newton's steps, within
 * what halving leaves, from the tilt of the round before.  A mean below or
 * above all weighted classes is as near as it gets.
 */
static void
fit_group(const double *sizes, const double *weights, size_t classes,
          struct spread_group *group)
{
    double low = -TILT_MOST, high = TILT_MOST;

    for (int i = 0; i < STEPS; i++) {
        double variance, next;
        double mean = tilt_shares(sizes, weights, classes, group, &variance);

        if (fabs(mean - 1) < NEAR)
            break;
        if (mean < 1)
            low = group->tilt;
        else
            high = group->tilt;
        next = variance > 0 ? group->tilt + (1 - mean) / variance : high;
        group->tilt = next > low && next < high ? next : low + (high - low) / 2;
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
    for (int round = 0; round < SCALING_ROUNDS; round++) {
        for (size_t g = 0; g < count; g++)
            fit_group(sizes, weights, classes, &groups[g]);
        if (round == SCALING_ROUNDS - 1)
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
