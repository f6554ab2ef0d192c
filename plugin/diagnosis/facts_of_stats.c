/*
 * facts_of_stats.c - divides RSS into parts that add up; see facts_of_stats.h.
 *
 * jemalloc's figures nest (allocated <= active <= active + dirty <= resident),
 * but RSS is the kernel's, read at another moment, and has files, stacks and
 * other allocators as well.  Each part is a difference of two figures, floored
 * at 0; the page shows what does not add up as a line of its own.  Figures of
 * one moment lie: a load that is coming or going moves megabytes between two
 * reads.  So a part counts as unusual only by its least of the last half
 * minute, which the samples of history give.  Pure; the time is linear in the
 * samples.
 */
#include "facts_of_stats.h"

#include "diagnosis_facts.h"
#include "free_pages.h"
#include "history.h"
#include "outlook.h"
#include "stats.h"
#include "stats_allocators.h"
#include "waste.h"
#include "snapshot_waste.h"

static struct fact
fact_of(struct stats_figure figure)
{
    return (struct fact){figure.known, figure.value};
}

/* a - b, and 0 where that is negative. */
static struct fact
excess_of(struct fact a, struct fact b)
{
    if (!a.known || !b.known)
        return (struct fact){0};
    return (struct fact){true, a.value > b.value ? a.value - b.value : 0};
}

/* The lesser of both; a where b is not known. */
static struct fact
lesser_of(struct fact a, struct fact b)
{
    return a.known && b.known && b.value < a.value ? b : a;
}

static struct fact
sum_of(struct fact a, struct fact b)
{
    return (struct fact){a.known || b.known,
                         (a.known ? a.value : 0) + (b.known ? b.value : 0)};
}

/* What is free within pages in use, without the padding of large blocks; for
 * old samples the padding of now is taken, as history has none. */
static struct fact
inside_of(struct fact active, struct fact allocated,
          const struct diagnosis_facts *facts)
{
    return allocated.known
               ? excess_of(active, sum_of(allocated, facts->padding))
               : allocated;
}

/* ---- now ---- */

static void
read_memory_limit(const struct stats *stats, uint64_t machine_left,
                  struct diagnosis_facts *out)
{
    const struct history_sample now = {.rss = stats->rss,
                                       .cgroup_current = stats->cgroup_current,
                                       .cgroup_cache = stats->cgroup_cache,
                                       .cgroup_limit = stats->cgroup_limit};
    struct outlook_headroom headroom;

    outlook_headroom_of(&now, machine_left, &headroom);
    out->limit = (struct fact){headroom.known, headroom.used + headroom.left};
    out->limit_is_machines = !headroom.of_cgroup;
}

static void
read_jemalloc(const struct stats *stats, struct diagnosis_facts *out)
{
    struct fact active = fact_of(stats->active);
    struct fact resident = fact_of(stats->resident);
    struct waste_heap heap;
    int64_t decay_ms = 0;

    /* muzzy pages are free, but the kernel has them until it needs them
     * (MADV_FREE) */
    out->muzzy.known = stats->arena_count > 0;
    for (size_t i = 0; i < stats->arena_count; i++)
        out->muzzy.value += stats->arenas[i].muzzy;
    if (resident.known)
        resident.value += out->muzzy.value;
    waste_take(stats, &heap);
    out->padding = (struct fact){heap.at_ms != 0, heap.large_padding};
    out->allocated = fact_of(stats->allocated);
    out->inside = inside_of(active, out->allocated, out);
    out->free_pages =
        stats->arena_count > 0
            ? (struct fact){true, free_pages_bytes(stats)}
            : excess_of(resident, sum_of(active, fact_of(stats->metadata)));
    out->bookkeeping = excess_of(resident, sum_of(active, out->free_pages));
    out->elsewhere = fact_of(elsewhere_resident(stats));
    out->outside = excess_of(out->rss, sum_of(resident, out->elsewhere));
    if (!resident.known)
        out->outside = (struct fact){0};
    out->free_cause = free_pages_cause(stats, &decay_ms);
}

void
facts_of_stats(const struct stats *stats, uint64_t machine_left,
               struct diagnosis_facts *out)
{
    out->figures_ms = stats->taken_ms;
    out->rss = fact_of(stats->rss);
    out->rss_file = fact_of(stats->rss_file);
    read_memory_limit(stats, machine_left, out);
    out->has_jemalloc = stats->named_count > 0;
    if (out->has_jemalloc &&
        stats_together(stats->allocator_ms, stats->taken_ms))
        read_jemalloc(stats, out); /* rss would be newer */
}

/* ---- of a while ---- */

/* The least value of a figure, from the last sample backwards, until the span
 * is long enough. */
struct least {
    uint64_t value;
    int64_t now_ms;
    size_t count;
    bool enough;
};

static void
take_least(struct least *least, struct fact figure, int64_t at_ms)
{
    if (!figure.known || least->enough)
        return;
    if (least->count++ == 0 || figure.value < least->value)
        least->value = figure.value;
    least->enough = least->count >= LEAST_SAMPLES &&
                    least->now_ms - at_ms >= LEAST_SPAN_S * INT64_C(1000);
}

static struct fact
least_of(const struct least *least)
{
    return (struct fact){least->enough, least->value};
}

/* History has no muzzy pages.  At least as many as now, or as were outside
 * then, are assumed to have been there all the while: they are free pages, not
 * memory outside of the allocator. */
static void
subtract_muzzy_pages(struct diagnosis_facts *out)
{
    struct fact muzzy = lesser_of(out->muzzy, out->least_outside);

    if (!out->least_outside.known || !muzzy.known)
        return;
    out->least_outside.value -= muzzy.value;
    out->least_free_pages.value += muzzy.value;
}

void
facts_of_samples(const struct history_sample *samples, size_t count,
                 struct diagnosis_facts *out)
{
    const struct history_sample *now = &samples[count > 0 ? count - 1 : 0];
    const struct least none = {.now_ms = count > 0 ? now->at_ms : 0};
    struct least inside = none, free_pages = none, outside = none, held = none;

    for (size_t i = count; i-- > 0;) {
        const struct history_sample *s = &samples[i];
        struct fact allocated = fact_of(s->allocated);
        struct fact active = fact_of(s->active);
        struct fact resident = fact_of(s->resident), rss = fact_of(s->rss);
        struct fact anonymous;

        if (s->pid != now->pid || s->start_ticks != now->start_ticks ||
            now->at_ms - s->at_ms > LEAST_FROM_S * INT64_C(1000))
            break;
        take_least(&inside, inside_of(active, allocated, out), s->at_ms);
        if (active.known && s->metadata.known)
            take_least(
                &free_pages,
                excess_of(resident, sum_of(active, fact_of(s->metadata))),
                s->at_ms);
        if (resident.known) /* the muzzy pages are in it: corrected below */
            take_least(&outside,
                       excess_of(rss, sum_of(resident, out->elsewhere)),
                       s->at_ms);
        anonymous = excess_of(rss, out->rss_file);
        take_least(&held,
                   out->has_jemalloc ? lesser_of(allocated, anonymous)
                                     : anonymous,
                   s->at_ms);
    }
    out->least_inside = least_of(&inside);
    out->least_free_pages = least_of(&free_pages);
    out->least_outside = least_of(&outside);
    out->least_resident = least_of(&held);
    subtract_muzzy_pages(out);
}
