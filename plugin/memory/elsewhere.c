/* elsewhere.c - see elsewhere.h. */
#include "elsewhere.h"

#include <string.h>

#include "buffer.h"
#include "stats_allocators.h"

enum { NAMED_MAX = 3, NAME_SHOWN = 64 }; /* jemallocs; bytes of a name */

static bool
is_other(const struct stats_allocator *a)
{
    return a->callable && !a->chosen;
}

static struct stats_figure
sum_others(const struct stats *stats, bool resident)
{
    struct stats_figure sum = {0};

    for (size_t i = 0; i < stats->allocator_count; i++) {
        const struct stats_allocator *a = &stats->allocators[i];

        if (!is_other(a) || !a->counted)
            continue;
        sum.known = true;
        sum.value += resident ? a->resident : a->allocated;
    }
    return sum;
}

struct stats_figure
elsewhere_allocated(const struct stats *stats)
{
    return sum_others(stats, false);
}

struct stats_figure
elsewhere_resident(const struct stats *stats)
{
    return sum_others(stats, true);
}

bool
elsewhere_uncounted(const struct stats *stats)
{
    for (size_t i = 0; i < stats->allocator_count; i++)
        if (!stats->allocators[i].chosen && !stats->allocators[i].counted)
            return true;
    return false;
}

static bool
is_worth_it(const struct stats *stats, const struct stats_allocator *a)
{
    double all = 0;

    for (size_t i = 0; i < stats->allocator_count; i++)
        all += (double)stats->allocators[i].allocated;
    return a->allocated >= ELSEWHERE_WORTH_BYTES &&
           (double)a->allocated * ELSEWHERE_WORTH_PART >= all;
}

static void
write_one(const struct stats_allocator *a, struct buffer *out)
{
    const char *slash = strrchr(a->object, '/');
    const char *name = slash ? slash + 1 : a->object;

    if (a->counted)
        buffer_format(out, "%.1f MB are in %.*s's jemalloc",
                      (double)a->allocated / (1 << 20), NAME_SHOWN, name);
    else
        buffer_format(out,
                      "an unknown part is in %.*s's jemalloc, built without "
                      "statistics",
                      NAME_SHOWN, name);
    if (a->config_prof)
        buffer_format(out,
                      ", which is not profiled: --allocator %.*s chooses it",
                      NAME_SHOWN, name);
    else
        buffer_text(out, ", which cannot be profiled");
}

void
elsewhere_write(const struct stats *stats, struct buffer *out)
{
    unsigned named = 0;

    for (size_t i = 0; i < stats->allocator_count && named < NAMED_MAX; i++) {
        const struct stats_allocator *a = &stats->allocators[i];

        if (!is_other(a) || (a->counted && !is_worth_it(stats, a)))
            continue;
        if (named++ > 0)
            buffer_text(out, "; ");
        write_one(a, out);
    }
}
