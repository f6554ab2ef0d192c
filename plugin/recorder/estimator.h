/*
 * estimator.h - which allocations are sampled, and what a sample stands for.
 *
 * Marks lie on the stream of bytes that a thread allocates, at exponentially
 * distributed distances with a given mean; an allocation with a mark in it is
 * sampled.  A block counts one byte more than its size, so that an empty one
 * can be hit.  Pure; no dependency: the recorder may not call libm.
 */
#ifndef HW_ESTIMATOR_H
#define HW_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

/* The probability that a block is sampled; its inverse is the sample's weight,
 * in objects.  With a mean of 0 or 1 it is 1. */
double estimator_chance(uint64_t size, uint64_t mean);

/* The probability that a sample stays one when its mean grows. */
double estimator_stays(uint64_t size, uint64_t mean, uint64_t greater);

enum {
    SAMPLER_POLL_BYTES = 1 << 20
}; /* bytes between two reads of the settings */

/* A thread's state; zeroed at first. */
struct sampler {
    uint64_t left;   /* bytes that may pass before sampler_hits() is asked */
    uint64_t random; /* 0: not begun */
    uint64_t mean;   /* 0: off */
    uint8_t mark;    /* whether a mark is where left ends */
    /* The cap on samples a second: too many double the thread's mean. */
    uint8_t shift;
    uint16_t second, taken;
};

/* 64 uniform bits. */
uint64_t sampler_random(struct sampler *s);
/* True with this probability. */
bool sampler_chooses(struct sampler *s, double chance);

/* Whether the allocation of a block of at least s->left bytes is sampled, with
 * s->mean.  Call sampler_draw() afterwards. */
bool sampler_hits(struct sampler *s, uint64_t size);

/* Draws the next distance.  A mean of 0 switches off for SAMPLER_POLL_BYTES
 * bytes. */
void sampler_draw(struct sampler *s, uint64_t mean);

/* The mean for a thread that takes a sample in this second: doubled while it
 * takes more than cap a second.  0: no cap. */
uint64_t sampler_capped(struct sampler *s, uint64_t mean, uint64_t second,
                        uint32_t cap);

#endif
