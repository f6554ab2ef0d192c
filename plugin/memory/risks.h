/*
 * risks.h - known faults of profiling with a version of jemalloc and its
 * options.
 *
 * Pure.
 */
#ifndef HW_RISKS_H
#define HW_RISKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stats;

enum { RISKS_MAX = 24 };

/* Which of the options that matter are set. */
struct risk_options {
    bool known; /* they have been read */
    uint32_t set;
};

void risks_read_options(const struct stats *stats, struct risk_options *out);

/* Fills one sentence for each risk of a version as mallctl returns it
 * ("5.3.0-0-g54eaed1d").  Returns their number. */
size_t risks_list(const char *version, const struct risk_options *options,
                  const char *out[RISKS_MAX]);

/* Pages that a small object takes of its own once it is sampled. */
unsigned risks_pages_per_sample(const char *version);
/* Bytes of so many samples' pages, at most: as if each was a small object. */
double risks_sample_bytes(const char *version, uint64_t samples);

#endif
