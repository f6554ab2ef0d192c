/*
 * waste_spread.c - see waste_spread.h.
 *
 * Thousands of unknown numbers are fixed by a few sums.  Of the many solutions
 * the one of greatest entropy is taken; a least-squares fit would give negative
 * counts and spikes.  It has the form weight(class) * exp(tilt(group) * size),
 * so a group needs one number, which Newton's steps find, and the classes'
 * weights are scaled in turn.  The rounds are few and fixed: the error of the
 * method is larger than what is left over.
 *
 * Pure arithmetic, of groups times classes per step; called by waste_means.c.
 */
#include "waste_spread.h"

#include <math.h>

enum {
    SCALING_ROUNDS = 8, /* what is left over is far below the error */
    STEPS = 48          /* at most, to find a group's tilt; five are usual */
};

#define TILT_MOST 1e4 /* per mean: tells neighboring classes apart */
#define NEAR      1e-9

/* Computes the group's shares from its tilt.  Returns their mean, and
 * *variance, in units of the group's mean.  Exponents are taken less the
 * largest, so that none overflows. */
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

/* Finds the tilt that gives the group its mean, starting from that of the round
 * before.  The variance is how fast the mean grows with the tilt, so Newton's
 * steps are cheap; one that leaves the known bounds is replaced by halving.  If
 * no class with a weight lies on the other side of the mean, the nearest is
 * taken. */
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
