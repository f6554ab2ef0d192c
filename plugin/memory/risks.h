/*
 * risks.h - what is known to go wrong with a version of jemalloc, and with the
 * options that it was started with, while its profiler is used.
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

/* One sentence each, of a version as mallctl tells it ("5.3.0-0-g54eaed1d");
 * how many. */
size_t risks_list(const char *version, const struct risk_options *options,
                  const char *out[RISKS_MAX]);

/* Pages that a small object takes of its own once it is sampled. */
unsigned risks_pages_per_sample(const char *version);
/* Bytes of so many samples' pages, at most: as if each was a small object. */
double risks_sample_bytes(const char *version, uint64_t samples);

#endif
