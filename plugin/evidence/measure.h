/*
 * measure.h - what marks look at, in addition to the clock.
 */
#ifndef HW_MEASURE_H
#define HW_MEASURE_H

#include <stdint.h>

struct history;
struct history_sample;
struct marks_now;
struct store;

/* Sets rss, used, total and of_cgroup.  In a cgroup with a limit below the
 * machine's RAM, used is what the kernel cannot simply take back; otherwise it
 * is the process's RSS, and total the RAM. */
void measure_sample(const struct history_sample *sample, struct marks_now *now);

/* Sets left_s and left_of_cgroup. */
void measure_left(struct history *history, struct marks_now *now);

/* How long ago the last snapshot of the ring was taken of that database;
 * UINT64_MAX: none is kept. */
uint64_t measure_ring_ago_ms(struct store *store,
                             const struct history_sample *sample);

#endif
