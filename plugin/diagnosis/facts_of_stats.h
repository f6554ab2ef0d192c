/*
 * facts_of_stats.h - the facts that allocator, kernel and cgroup tell.
 *
 * Pure.
 */
#ifndef HW_FACTS_OF_STATS_H
#define HW_FACTS_OF_STATS_H

struct diagnosis_facts;
struct stats;

/* Fills the figures of memory, limit and levers; the others stay. */
void facts_of_stats(const struct stats *stats, struct diagnosis_facts *out);

#endif
