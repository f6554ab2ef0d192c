/*
 * free_pages.c - see free_pages.h.
 *
 * jemalloc frees pages late on purpose: dirty pages wait dirty_decay_ms for
 * reuse, then become muzzy (MADV_FREE), then go back.  Without background
 * threads this clock is moved only by a thread that allocates or frees in that
 * arena: an idle arena keeps its pages for ever, which looks like a leak from
 * outside.  This tells which of the causes it is, from figures that the agent
 * sent, and names the lever that helps.
 */
#include "free_pages.h"

#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "stats.h"

enum { LEAST_BYTES = 16 << 20, LEAST_SHARE = 20 };

#define LEVER "Jemalloc.getInstance()."

static bool
named_number(const struct stats *stats, const char *name, int64_t *out)
{
    for (size_t i = 0; i < stats->named_count; i++)
        if (strcmp(stats->named[i].name, name) == 0 &&
            stats->named[i].is_number) {
            *out = stats->named[i].number;
            return true;
        }
    return false;
}

static uint64_t
free_bytes(const struct stats_arena *arena)
{
    return arena->dirty + arena->muzzy;
}

static double
free_page_megabytes(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* The sum of all; *most: the one with the most, or NULL. */
static uint64_t
sum_free_pages(const struct stats *stats, const struct stats_arena **most)
{
    uint64_t sum = 0;

    *most = NULL;
    for (size_t i = 0; i < stats->arena_count; i++) {
        const struct stats_arena *arena = &stats->arenas[i];

        sum += free_bytes(arena);
        if (!*most || free_bytes(arena) > free_bytes(*most))
            *most = arena;
    }
    return sum;
}

uint64_t
free_pages_bytes(const struct stats *stats)
{
    const struct stats_arena *most;

    return sum_free_pages(stats, &most);
}

/* Each kind has a decay time of its own; the message is about the kind that has
 * more. */
static bool
are_muzzy(const struct stats *stats)
{
    uint64_t dirty = 0, muzzy = 0;

    for (size_t i = 0; i < stats->arena_count; i++) {
        dirty += stats->arenas[i].dirty;
        muzzy += stats->arenas[i].muzzy;
    }
    return muzzy > dirty;
}

/* The default for new arenas.  It holds for the existing ones, too, unless the
 * program set arena.<i>.*_decay_ms.  opt.* is what an older agent sends. */
static bool
find_decay_ms(const struct stats *stats, int64_t *out)
{
    return are_muzzy(stats)
               ? named_number(stats, "arenas.muzzy_decay_ms", out) ||
                     named_number(stats, "opt.muzzy_decay_ms", out)
               : named_number(stats, "arenas.dirty_decay_ms", out) ||
                     named_number(stats, "opt.dirty_decay_ms", out);
}

enum free_pages_cause
free_pages_cause(const struct stats *stats, int64_t *decay_ms)
{
    int64_t background = 0;
    bool threads = named_number(stats, "background_thread", &background);
    bool known = find_decay_ms(stats, decay_ms);

    if (known && *decay_ms < 0)
        return FREE_PAGES_NEVER;
    /* Before the time: with no thread to apply it, no decay time matters. */
    if (threads && background == 0)
        return FREE_PAGES_IDLE;
    return threads && known ? FREE_PAGES_DECAY : FREE_PAGES_UNKNOWN;
}

static void
write_cause(const struct stats *stats, struct buffer *out)
{
    const char *kind = are_muzzy(stats) ? "muzzy" : "dirty";
    int64_t decay = 0;

    switch (free_pages_cause(stats, &decay)) {
    case FREE_PAGES_NEVER:
        buffer_format(out,
                      "%s_decay_ms is -1, so they are never given back: " LEVER
                      "decay(10000, 0, 3600) gives them back for an hour, "
                      "purge() once",
                      kind);
        break;
    case FREE_PAGES_IDLE:
        buffer_text(out,
                    "background_thread is 0, so an arena gives its pages back "
                    "only while threads allocate and free in it: " LEVER
                    "background_threads(true, 3600) does it for an hour, "
                    "purge() once");
        break;
    case FREE_PAGES_DECAY:
        buffer_format(out,
                      "background threads give back what is free for "
                      "%s_decay_ms, %" PRId64 " ms; " LEVER
                      "purge() does it at once",
                      kind, decay);
        break;
    default:
        buffer_text(out, LEVER "purge() gives them back, where this jemalloc "
                               "can");
    }
}

void
free_pages_write(const struct stats *stats, struct buffer *out)
{
    const struct stats_arena *most;
    uint64_t sum = sum_free_pages(stats, &most);

    if (sum < LEAST_BYTES || !stats->resident.known ||
        sum < stats->resident.value / LEAST_SHARE)
        return;
    buffer_format(out, "rss stays, because %.1f MB of free pages are kept, ",
                  free_page_megabytes(sum));
    if (most->threads == 0)
        buffer_format(out, "%.1f MB of them in idle arena %u",
                      free_page_megabytes(free_bytes(most)), most->index);
    else
        buffer_format(out, "%.1f MB of them in arena %u (%" PRIu64 " thread%s)",
                      free_page_megabytes(free_bytes(most)), most->index,
                      most->threads, most->threads == 1 ? "" : "s");
    buffer_format(out, " (%.1f MB dirty, %.1f MB muzzy): ",
                  free_page_megabytes(most->dirty),
                  free_page_megabytes(most->muzzy));
    write_cause(stats, out);
}
