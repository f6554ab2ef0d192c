/*
 * facts_of_stats.h - the facts that come from allocator, kernel and cgroup.
 *
 * Pure.
 */
#ifndef HW_FACTS_OF_STATS_H
#define HW_FACTS_OF_STATS_H

#include <stddef.h>
#include <stdint.h>

struct diagnosis_facts;
struct history_sample;
struct stats;

enum {
    LEAST_SPAN_S = 25, /* a figure must have held for so long */
    LEAST_FROM_S = 90, /* within the last so many seconds, */
    LEAST_SAMPLES = 3  /* in at least so many samples */
};

/* Fills the figures of memory and the limit; the others stay as they are.
 * machine_left: memory_left_machine(). */
void facts_of_stats(const struct stats *stats, uint64_t machine_left,
                    struct diagnosis_facts *out);

/* Call it after facts_of_stats: fills the least of those figures, over the
 * shortest time up to now that is long enough; they stay unknown if none is.
 * Samples: the oldest first; those of other databases are skipped. */
void facts_of_samples(const struct history_sample *samples, size_t count,
                      struct diagnosis_facts *out);

#endif
