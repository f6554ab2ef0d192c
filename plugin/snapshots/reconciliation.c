/*
 * reconciliation.c - see reconciliation.h.
 *
 * A profile never adds up to what the allocator has allocated: it is an
 * estimate, it lacks what is older than profiling, and memory moves while it is
 * taken.  A reader who sees 114 MB of 120 must be told whether the difference
 * is chance, or what else it is.  So the figures of one moment are subtracted,
 * the difference is compared with the 95 % margin of the estimate, and the
 * likeliest reason is named.  Figures of different moments are shown, and not
 * subtracted.
 *
 * Pure arithmetic and text; unseen_find() is the only place that subtracts.
 */
#include "reconciliation.h"

#include <math.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "stats_allocators.h"
#include "profile.h"
#include "risks.h"
#include "snapshot.h"
#include "stats.h"

/* Why the profile lacks memory.  The agent knows of profiling since it started:
 * if it found profiling active, that was so from the first instruction, and
 * only a reset forgets what was allocated before. */
static const char *
reason_of(const struct profile *profile, const struct agent_hello *hello)
{
    int64_t since_ms = profile->origin.active_since_ms;

    if (profile->samples == 0)
        return "nothing is sampled";
    if (hello->resets > 0)
        return "allocated before the reset, or while profiling was off";
    if (since_ms == 0 || since_ms > hello->started_ms)
        return "allocated while profiling was off";
    if (hello->opt_prof == AGENT_PROF_RECORDED)
        return "rounded up to the allocator's sizes, free in caches of "
               "threads, or grown meanwhile";
    return "free in caches of threads, or grown while the profile was taken";
}

/* Whether the figures are those of a jemalloc whose functions have a prefix, as
 * one built into a library.  The recorder sees malloc() alone, so these bytes
 * are none of the profile's. */
static bool
is_prefixed_jemalloc(const struct agent_hello *hello)
{
    return hello->opt_prof == AGENT_PROF_RECORDED && *hello->mallctl &&
           strcmp(hello->mallctl, "mallctl") != 0;
}

double
reconciliation_sample_pages(const struct agent_hello *hello, uint64_t samples)
{
    return hello->opt_prof == AGENT_PROF_RECORDED
               ? 0
               : risks_sample_bytes(hello->version, samples);
}

void
unseen_find(const struct profile *profile, const struct snapshot_memory *memory,
            const struct agent_hello *hello, struct unseen *out)
{
    memset(out, 0, sizeof(*out));
    out->why = reason_of(profile, hello);
    out->margin = profile_margin(profile);
    out->elsewhere =
        memory->elsewhere.known ? (double)memory->elsewhere.value : 0;
    if (memory->allocated.known && is_prefixed_jemalloc(hello)) {
        out->elsewhere += (double)memory->allocated.value;
        return;
    }
    if (!memory->allocated.known ||
        !stats_together(memory->allocator_ms, profile->origin.taken_ms))
        return;
    out->compared = true;
    out->missing = (double)memory->allocated.value - profile->bytes;
    out->pages = reconciliation_sample_pages(hello, profile->samples);
    /* At most the whole gap can be due to them. */
    if (out->pages > out->missing)
        out->pages = out->missing > 0 ? out->missing : 0;
}

/* Whether more is missing than chance explains. */
static bool
unseen_is_beyond_chance(const struct unseen *unseen)
{
    return unseen->compared && unseen->missing > unseen->margin;
}

/* Pages of samples are left out, as every sample is in the profile. */
void
unseen_fill(struct snapshot *snapshot)
{
    struct profile_unseen *to = &snapshot->profile->unseen;
    struct unseen unseen;
    double missing = 0;

    to->why = "";
    if (snapshot->profile->kind != PROFILE_HEAP)
        return;
    unseen_find(snapshot->profile, &snapshot->memory, &snapshot->hello,
                &unseen);
    if (unseen_is_beyond_chance(&unseen) &&
        unseen.missing - unseen.pages > unseen.margin)
        missing = unseen.missing - unseen.pages;
    to->bytes = missing + unseen.elsewhere;
    if (unseen.elsewhere > missing)
        to->why = "in jemallocs that are not profiled";
    else
        to->why = missing > 0 ? unseen.why : "";
}

static double
bytes_in_megabytes(double bytes)
{
    return bytes / 1048576.0;
}

/* In double, as a gap may be negative. */
static double
figure_gap_megabytes(struct stats_figure larger, struct stats_figure smaller)
{
    return bytes_in_megabytes((double)larger.value - (double)smaller.value);
}

void
reconciliation_take(const struct stats *stats, struct snapshot_memory *out)
{
    *out = (struct snapshot_memory){.allocator_ms = stats->allocator_ms,
                                    .rss_ms = stats->taken_ms,
                                    .allocated = stats->allocated,
                                    .active = stats->active,
                                    .metadata = stats->metadata,
                                    .resident = stats->resident,
                                    .mapped = stats->mapped,
                                    .retained = stats->retained,
                                    .rss = stats->rss,
                                    .rss_file = stats->rss_file,
                                    .cgroup_current = stats->cgroup_current,
                                    .cgroup_limit = stats->cgroup_limit,
                                    .elsewhere = elsewhere_allocated(stats)};
}

static void
write_profile(const struct profile *profile, struct buffer *out)
{
    char since[CLOCK_TEXT];

    buffer_format(out, "profile %.1f MB (%llu sample%s",
                  bytes_in_megabytes(profile->bytes),
                  (unsigned long long)profile->samples,
                  profile->samples == 1 ? "" : "s");
    if (profile->origin.active_since_ms > 0) {
        clock_text(profile->origin.active_since_ms, since, sizeof(since));
        buffer_format(out, " since %s UTC)", since);
    } else {
        buffer_text(out, ", profiling is not active)");
    }
}

/* "Up to": a sampled large object needs no pages of its own. */
static void
write_unseen_missing(const struct unseen *unseen, struct buffer *out)
{
    double pages = bytes_in_megabytes(unseen->pages);

    buffer_format(out, "%.1f more, ", bytes_in_megabytes(unseen->missing));
    /* else it would read 0.0 */
    if (unseen->pages > unseen->margin && pages >= 0.05)
        buffer_format(out,
                      "up to %.1f of it pages of the samples themselves, the "
                      "rest ",
                      pages);
    buffer_format(out,
                  "%s, which no sample sees (sampling alone: +-%.1f in 95%% "
                  "of cases)",
                  unseen->why, bytes_in_megabytes(unseen->margin));
}

/* What the profile lacks of the allocated bytes, or has too much. */
static void
write_gap(const struct profile *profile, const struct unseen *unseen,
          struct buffer *out)
{
    double missing = bytes_in_megabytes(unseen->missing);
    double margin = bytes_in_megabytes(unseen->margin);

    if (profile->samples == 0)
        buffer_format(out, ": %s", unseen->why);
    else if (fabs(missing) <= margin)
        buffer_format(
            out, ": equal within the sampling error (+-%.1f in 95%% of cases)",
            margin);
    else if (missing > 0) {
        buffer_text(out, ": ");
        write_unseen_missing(unseen, out);
    } else
        buffer_format(out,
                      ": %.1f too much: freed since, or chance (+-%.1f in 95%% "
                      "of cases)",
                      -missing, margin);
}

static void
write_allocated(const struct profile *profile, const struct snapshot_memory *m,
                const struct unseen *unseen, struct buffer *out)
{
    double apart_ms = (double)(m->allocator_ms - profile->origin.taken_ms);

    buffer_format(out, " of %.1f MB allocated",
                  bytes_in_megabytes((double)m->allocated.value));
    if (unseen->compared)
        write_gap(profile, unseen, out);
    else
        buffer_format(out, " %.1f s %s: not compared", fabs(apart_ms) / 1000,
                      apart_ms < 0 ? "before" : "after");
}

static void
write_prefixed_jemalloc(const struct snapshot_memory *m, struct buffer *out)
{
    buffer_text(out, ", and nothing of ");
    if (m->allocated.known)
        buffer_format(out, "the %.1f MB of ",
                      bytes_in_megabytes((double)m->allocated.value));
    buffer_text(out, "a jemalloc whose functions have a prefix: the recorder "
                     "sees only functions without one");
}

static void
write_allocator(const struct snapshot_memory *m, struct buffer *out)
{
    if (m->active.known)
        buffer_format(out, "; active %.1f",
                      bytes_in_megabytes((double)m->active.value));
    if (m->active.known && m->allocated.known)
        buffer_format(out, ": %.1f free parts of pages in use",
                      figure_gap_megabytes(m->active, m->allocated));
    if (!m->resident.known)
        return;
    buffer_format(out, "; resident %.1f",
                  bytes_in_megabytes((double)m->resident.value));
    if (!m->active.known)
        return;
    buffer_format(out, ": %.1f ", figure_gap_megabytes(m->resident, m->active));
    if (m->metadata.known)
        buffer_format(out, "metadata (%.1f) and ",
                      bytes_in_megabytes((double)m->metadata.value));
    buffer_text(out, "free pages not given back yet");
}

/* What of RSS lies outside the profiled jemalloc.  Other jemallocs may have
 * free pages in addition, or no statistics at all; and bytes in use in them
 * need not be in memory, so they may exceed what is left.  If the files' part
 * of RSS exceeds it, jemalloc's figure has pages that are not in RSS. */
static void
write_outside(const struct snapshot_memory *m, double outside,
              struct buffer *out)
{
    double files = bytes_in_megabytes((double)m->rss_file.value);
    double others = bytes_in_megabytes((double)m->elsewhere.value);
    bool in_others = m->elsewhere.known && outside > others, too_many_files;

    if (in_others) {
        buffer_format(out, "%.1f in use in other jemallocs, ", others);
        outside -= others;
    }
    too_many_files = m->rss_file.known && files > outside;
    if (too_many_files)
        buffer_format(out, "%.1f of files, ", files);
    else
        buffer_format(out, "%.1f %s (", outside,
                      in_others ? "besides" : "outside this jemalloc");
    if (m->rss_file.known && !too_many_files)
        buffer_format(out, "files %.1f, ", files);
    if (m->elsewhere.known && !in_others)
        buffer_format(out, "other jemallocs, which have %.1f in use, ", others);
    buffer_text(out, too_many_files ? "and jemalloc's figure has pages that "
                                      "were never touched"
                                    : "thread stacks, other mappings)");
}

static void
write_kernel(const struct snapshot_memory *m, struct buffer *out)
{
    double outside = figure_gap_megabytes(m->rss, m->resident);

    if (!m->rss.known)
        return;
    buffer_format(out, "; RSS %.1f", bytes_in_megabytes((double)m->rss.value));
    if (!m->resident.known)
        return;
    if (!stats_together(m->allocator_ms, m->rss_ms)) {
        buffer_text(out, ", not of the moment of jemalloc's: not compared");
        return;
    }
    buffer_text(out, ": ");
    if (outside < 0)
        buffer_format(out,
                      "%.1f of jemalloc's is swapped out or was never touched",
                      -outside);
    else
        write_outside(m, outside, out);
}

static void
write_cgroup(const struct snapshot_memory *m, struct buffer *out)
{
    if (m->cgroup_current.known)
        buffer_format(out, "; cgroup %.1f",
                      bytes_in_megabytes((double)m->cgroup_current.value));
    if (m->cgroup_limit.known)
        buffer_format(out, "%s limit %.1f",
                      m->cgroup_current.known ? " of" : "; cgroup",
                      bytes_in_megabytes((double)m->cgroup_limit.value));
    else if (m->cgroup_current.known)
        buffer_text(out, ", no limit");
}

void
reconciliation_write(const struct profile *profile,
                     const struct snapshot_memory *memory,
                     const struct agent_hello *hello, const char *note,
                     struct buffer *out)
{
    struct unseen unseen;

    unseen_find(profile, memory, hello, &unseen);
    write_profile(profile, out);
    if (is_prefixed_jemalloc(hello))
        write_prefixed_jemalloc(memory, out);
    else if (memory->allocated.known)
        write_allocated(profile, memory, &unseen, out);
    if (*note)
        buffer_format(out, "; %s", note);
    write_allocator(memory, out);
    write_kernel(memory, out);
    write_cgroup(memory, out);
}
