/*
 * facts_of_stats.h - the facts that allocator, kernel and cgroup tell.
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
    LEAST_SPAN_S = 25, /* for so long a figure must have been there */
    LEAST_FROM_S = 90, /* and been looked at since, */
    LEAST_SAMPLES = 3  /* so often at least */
};

/* Fills the figures of memory and the limit; the others stay.  machine_left:
 * memory_left_machine(). */
void facts_of_stats(const struct stats *stats, uint64_t machine_left,
                    struct diagnosis_facts *out);

/* Fills the least of those figures, after facts_of_stats, of the shortest time
 * up to now that tells enough; else they stay unknown.  Samples: oldest first;
 * of other databases, too. */
void facts_of_samples(const struct history_sample *samples, size_t count,
                      struct diagnosis_facts *out);

#endif
