/*
 * estimator.h - which allocations are sampled, and what a sample stands for.
 *
 * Marks lie on the bytes that a thread allocates, at exponential distances of
 * a mean; an allocation with a mark in it is sampled.  A block counts one byte
 * more than its size, so that an empty one can be hit.  Pure; no dependency:
 * the recorder may not call libm.
 */
#ifndef HW_ESTIMATOR_H
#define HW_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

/* That a block is sampled; its inverse is the sample's weight, in objects.  A
 * mean of 0 or 1 samples every one. */
double estimator_chance(uint64_t size, uint64_t mean);

/* That a sample stays a sample when its mean grows. */
double estimator_stays(uint64_t size, uint64_t mean, uint64_t greater);

enum {
    SAMPLER_POLL_BYTES = 1 << 20
}; /* bytes between two reads of the settings */

/* A thread's.  Zeroed: to be begun. */
struct sampler {
    uint64_t left;   /* bytes that may pass before sampler_hits() is asked */
    uint64_t random; /* 0: not begun */
    uint64_t mean;   /* 0: off */
    uint8_t mark;    /* whether a mark is at their end */
    /* The cap on samples a second: too many double the thread's mean. */
    uint8_t shift;
    uint16_t second, taken;
};

/* Evenly spread. */
uint64_t sampler_random(struct sampler *s);
/* True with this chance. */
bool sampler_chooses(struct sampler *s, double chance);

/* The allocation of a block of at least s->left bytes: whether it is sampled,
 * for s->mean.  Then sampler_draw() is due. */
bool sampler_hits(struct sampler *s, uint64_t size);

/* Draws anew.  0 switches off, until SAMPLER_POLL_BYTES bytes have passed. */
void sampler_draw(struct sampler *s, uint64_t mean);

/* The mean for a thread that takes a sample in this second, of at most cap. */
uint64_t sampler_capped(struct sampler *s, uint64_t mean, uint64_t second,
                        uint32_t cap);

#endif
