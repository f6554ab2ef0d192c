/*
 * sample_thin.h - makes room among the live samples, without bias.
 *
 * The mean doubles, and each sample stays with the chance that it would have
 * been taken under the new mean.  Large blocks, which hardly thin, have a
 * ceiling and a mean of their own: they do not coarsen the others.
 */
#ifndef HW_SAMPLE_THIN_H
#define HW_SAMPLE_THIN_H

#include <stdbool.h>

struct segment_sample;

/* Whether as many live as look-ups stay short with, and inserts succeed. */
bool sample_table_is_full(void);

/* False: another thread is at it. */
bool sample_thin(void);

/* A sample that is not in the table yet, for the mean of its size: false if it
 * goes. */
bool sample_thin_one(struct segment_sample *sample);

#endif
