/* facts_of_stats.c - see facts_of_stats.h. */
#include "facts_of_stats.h"

#include <string.h>

#include "diagnosis_facts.h"
#include "stats.h"
#include "stats_allocators.h"

static struct fact
fact_of(struct stats_figure figure)
{
    return (struct fact){figure.known, figure.value};
}

/* A number of the agent's list; -1, jemalloc's "never", is UINT64_MAX. */
static struct fact
fact_named(const struct stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->named_count; i++)
        if (strcmp(stats->named[i].name, name) == 0 &&
            stats->named[i].is_number)
            return (struct fact){true, (uint64_t)stats->named[i].number};
    return (struct fact){0};
}

static void
read_arenas(const struct stats *stats, struct diagnosis_facts *out)
{
    for (size_t i = 0; i < stats->arena_count; i++) {
        const struct stats_arena *arena = &stats->arenas[i];

        out->dirty = (struct fact){true, out->dirty.value + arena->dirty};
        out->muzzy = (struct fact){true, out->muzzy.value + arena->muzzy};
        if (out->dirtiest_bytes.known &&
            arena->dirty <= out->dirtiest_bytes.value)
            continue;
        out->dirtiest_arena = (struct fact){true, arena->index};
        out->dirtiest_threads = (struct fact){true, arena->threads};
        out->dirtiest_bytes = (struct fact){true, arena->dirty};
    }
}

void
facts_of_stats(const struct stats *stats, struct diagnosis_facts *out)
{
    out->figures_ms = stats->taken_ms;
    out->rss = fact_of(stats->rss);
    out->rss_file = fact_of(stats->rss_file);
    out->rss_shared = fact_of(stats->rss_shared);
    out->limit = fact_of(stats->cgroup_limit);
    out->used = fact_of(stats->cgroup_current);
    if (out->used.known && stats->cgroup_cache.known &&
        stats->cgroup_cache.value <= out->used.value)
        out->used.value -= stats->cgroup_cache.value;
    out->has_jemalloc = stats->named_count > 0;
    if (!out->has_jemalloc ||
        !stats_together(stats->allocator_ms, stats->taken_ms))
        return; /* of another time than rss: not to be subtracted */
    out->allocated = fact_of(stats->allocated);
    out->active = fact_of(stats->active);
    out->metadata = fact_of(stats->metadata);
    out->resident = fact_of(stats->resident);
    out->retained = fact_of(stats->retained);
    out->elsewhere_resident = fact_of(elsewhere_resident(stats));
    out->background_thread = fact_named(stats, "background_thread");
    out->dirty_decay_ms = fact_named(stats, "opt.dirty_decay_ms");
    read_arenas(stats, out);
}
