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

/* Whether more samples live than the table holds well. */
bool sample_table_is_full(void);

/* Doubles the mean until there is room.  False: another thread does it now. */
bool sample_thin(void);

/* Thins a sample that is not in the table yet to the current mean of its size;
 * false: it is dropped. */
bool sample_thin_one(struct segment_sample *sample);

#endif
