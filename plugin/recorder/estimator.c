/*
 * estimator.c - see estimator.h.
 *
 * A Poisson process samples each byte independently of the others, so the
 * estimate has no bias for any pattern of sizes; fixed distances would resonate
 * with a loop's.  Exponential distances have no memory: at any point that does
 * not depend on what lies ahead, the distance to the next mark may be drawn
 * anew.  So a long one is cut at SAMPLER_POLL_BYTES, a new mean applies at
 * once, and the bytes behind a mark in a sampled block need not be walked.
 *
 * The recorder runs this inside malloc, on each of the program's threads; a
 * thread's state is its own, so there is no lock.  exp and log are computed
 * here, because libm would be one more library in the host.
 */
#include "estimator.h"

#include <string.h>

enum { CAPPED_SHIFT_MAX = 20 };

static const double LN_2 = 0.693147180559945309417;
static const double SQRT_2 = 1.41421356237309504880;

/* 1 - e^-x for x >= 0, with a relative error of 1e-15.  1 - exp(-x) itself
 * would cancel for a small block, whose x is tiny. */
static double
one_less_exp(double x)
{
    double sum = 0;
    int halvings = 0;

    if (x > 40)
        return 1;
    for (; x > 0.25; halvings++)
        x /= 2;
    for (int i = 11; i > 0; i--) /* x - x^2/2! + x^3/3! ... */
        sum = x / i * (1 - sum);
    for (; halvings > 0; halvings--) /* from x to 2x */
        sum *= 2 - sum;
    return sum;
}

/* -ln(u) for a uniform u in (0, 1]: exponentially distributed, mean 1.  Splits
 * u into a power of two and a number near 1, whose logarithm is 2 artanh((u -
 * 1) / (u + 1)). */
static double
draw_exponential(uint64_t random)
{
    double u = (double)((random >> 11) + 1) * 0x1p-53, z, square, sum = 0;
    uint64_t bits;
    int exponent;

    memcpy(&bits, &u, sizeof(bits));
    exponent = (int)(bits >> 52) - 1023;
    bits = (bits & ((1ULL << 52) - 1)) | 1023ULL << 52;
    memcpy(&u, &bits, sizeof(u)); /* in [1, 2) */
    if (u > SQRT_2) {
        u /= 2;
        exponent++;
    }
    z = (u - 1) / (u + 1);
    square = z * z;
    for (int i = 17; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return -(exponent * LN_2 + 2 * z * sum);
}

double
estimator_chance(uint64_t size, uint64_t mean)
{
    return mean <= 1 ? 1 : one_less_exp(((double)size + 1) / (double)mean);
}

double
estimator_stays(uint64_t size, uint64_t mean, uint64_t greater)
{
    return estimator_chance(size, greater) / estimator_chance(size, mean);
}

uint64_t
sampler_random(struct sampler *s)
{
    uint64_t z = s->random += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

bool
sampler_chooses(struct sampler *s, double chance)
{
    return (double)(sampler_random(s) >> 11) * 0x1p-53 < chance;
}

bool
sampler_hits(struct sampler *s, uint64_t size)
{
    /* No mark within left: the distance from there on is drawn anew, and hits
     * if it ends within the block.  The 1 is the extra byte. */
    double beyond = (double)(size - s->left) + 1;

    if (s->mean == 0 ||
        (!s->mark &&
         draw_exponential(sampler_random(s)) * (double)s->mean >= beyond))
        return false;
    if (s->taken < UINT16_MAX)
        s->taken++;
    return true;
}

void
sampler_draw(struct sampler *s, uint64_t mean)
{
    double distance;

    s->mean = mean;
    s->mark = mean == 1;
    s->left = mean == 0 ? SAMPLER_POLL_BYTES : 0;
    if (mean <= 1)
        return;
    distance = draw_exponential(sampler_random(s)) * (double)mean;
    s->mark = distance < SAMPLER_POLL_BYTES;
    s->left = s->mark ? (uint64_t)distance : SAMPLER_POLL_BYTES;
}

uint64_t
sampler_capped(struct sampler *s, uint64_t mean, uint64_t second, uint32_t cap)
{
    if (s->second != (uint16_t)second) {
        if (s->taken < cap / 2 && s->shift > 0)
            s->shift--;
        s->second = (uint16_t)second;
        s->taken = 0;
    }
    if (cap == 0 || mean <= 1) {
        s->shift = 0;
        return mean;
    }
    if (s->taken >= cap && s->shift < CAPPED_SHIFT_MAX) {
        s->shift++;
        s->taken = 0;
    }
    return mean << s->shift;
}
