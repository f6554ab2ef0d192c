/*
 * diagnosis_page.c - the diagnosis as a page of plain text.
 *
 * The findings stand first, each with its steps, for a reader in a hurry; then
 * where the bytes of RSS are; then what grew.  The parts must add up to RSS, or
 * the reader trusts none of them: what is missing, or too much, is a line of
 * its own, with its most likely cause.  Pure.
 */
#include "diagnosis.h"

#include <inttypes.h>
#include <stdbool.h>

#include "buffer.h"
#include "bytes_text.h"
#include "clock.h"
#include "diagnosis_facts.h"
#include "finding.h"

/* Every finding shows its certainty, since a reader takes a bare sentence as
 * certain; what is not known yet has none. */
static void
write_finding(const struct finding *finding, struct buffer *out)
{
    buffer_format(out, "%s", finding_kind_name(finding->kind));
    if (finding->subject[0])
        buffer_format(out, " in %s", finding->subject);
    if (finding->kind != FINDING_NOT_KNOWN_YET)
        buffer_format(out, " (%s)", finding_certainty_name(finding->certainty));
    buffer_format(out, ": %s.\n", finding->why);
    for (size_t i = 0; i < finding->step_count; i++)
        buffer_format(out, "  %zu. %s\n", i + 1, finding->steps[i]);
}

/* RSS, and how much of it the lines so far have. */
struct page_parts {
    struct buffer *out;
    double total, accounted;
};

static void
write_memory_line(struct page_parts *parts, double bytes, const char *what)
{
    buffer_format(parts->out, "  %10s  %3.0f %%  %s\n", bytes_text(bytes).text,
                  parts->total > 0 ? 100.0 * bytes / parts->total : 0.0, what);
}

static void
write_memory_part(struct page_parts *parts, struct fact bytes, const char *what)
{
    if (!bytes.known)
        return;
    parts->accounted += (double)bytes.value;
    write_memory_line(parts, (double)bytes.value, what);
}

/* Writes the owners of what is outside of jemalloc; of all RSS where there is
 * no jemalloc. */
static void
write_owners(const struct diagnosis_facts *facts, struct page_parts *parts)
{
    for (size_t i = 0; i < facts->owner_count; i++)
        write_memory_part(parts, (struct fact){true, facts->owners[i].bytes},
                          facts->owners[i].name);
    if (facts->owners_more.value > 0)
        write_memory_part(parts, facts->owners_more,
                          "others (heapwire.mappings)");
}

/* A byte is the tolerance: the parts are sums of integers in doubles. */
static void
write_rest(struct page_parts *parts, const char *missing, const char *beyond)
{
    double rest = parts->total - parts->accounted;

    if (rest >= 1 || rest <= -1)
        write_memory_line(parts, rest, rest > 0 ? missing : beyond);
}

static void
write_jemallocs(const struct diagnosis_facts *facts, struct page_parts *parts)
{
    static const char beyond[] = "counted by jemalloc, but not in memory: not "
                                 "touched yet, taken back, or swapped out";
    struct page_parts outside = {parts->out, parts->total, 0};

    write_memory_part(parts, facts->allocated, "in use by the program");
    write_memory_part(parts, facts->inside,
                      "free between what is in use (fragmentation)");
    if (facts->padding.value > 0)
        write_memory_part(
            parts, facts->padding,
            "a page beside each large block, as jemalloc lays them out");
    write_memory_part(parts, facts->free_pages, "free pages that are kept");
    write_memory_part(parts, facts->bookkeeping, "jemalloc's bookkeeping");
    write_memory_part(parts, facts->elsewhere, "of other jemallocs");
    if (facts->owner_count == 0) {
        write_memory_part(parts, facts->outside, "outside the allocator");
    } else {
        outside.accounted = parts->accounted;
        write_owners(facts, &outside);
        parts->accounted = outside.accounted;
    }
    write_rest(parts,
               facts->owner_count == 0
                   ? "not attributed"
                   : "outside the allocator, and not attributed",
               beyond);
}

static void
write_parts(const struct diagnosis_facts *facts, struct buffer *out)
{
    struct page_parts parts = {out, (double)facts->rss.value, 0};

    if (!facts->rss.known) {
        buffer_text(out, "\nWhere its memory is: not known.\n");
        return;
    }
    buffer_format(out, "\nWhere its memory is (RSS, %s):\n",
                  bytes_text(parts.total).text);
    if (facts->has_jemalloc && facts->allocated.known) {
        write_jemallocs(facts, &parts);
    } else {
        write_memory_part(&parts, facts->owned_by_jemalloc,
                          "jemalloc's, whose own figures are not known now");
        write_owners(facts, &parts);
        write_rest(&parts,
                   facts->owners_ms == 0
                       ? "not attributed"
                       : "not attributed, or new since the mappings were read",
                   "gone since the mappings were read");
    }
    if (facts->page_tables.value > 0)
        buffer_format(out,
                      "Besides, the kernel has %s of page tables for it.\n",
                      bytes_text((double)facts->page_tables.value).text);
}

static void
write_list(const struct fact_holder *list, size_t count, const char *by,
           struct buffer *out)
{
    for (size_t i = 0; i < count; i++)
        buffer_format(out, "%s %s%s%s", i > 0 ? "," : "",
                      bytes_text((double)list[i].bytes).text, by, list[i].name);
    buffer_text(out, ".\n");
}

/* The profile only has what was allocated since profiling is on: the sentence
 * says so, or its sum would be compared with RSS. */
static void
write_holders(const struct diagnosis_facts *facts, struct buffer *out)
{
    if (facts->holder_count == 0)
        return;
    buffer_format(out,
                  "By the profile's estimate, %s of the memory allocated since "
                  "profiling was switched on are in use:",
                  bytes_text((double)facts->profile_bytes.value).text);
    write_list(facts->holders, facts->holder_count, " by ", out);
    if (facts->thread_count == 0)
        return;
    buffer_text(out, "By the threads that allocated it:");
    write_list(facts->threads, facts->thread_count, " ", out);
}

static void
write_growth(const struct diagnosis_facts *facts, struct buffer *out)
{
    size_t judged = 0, grow = 0;

    if (facts->grows)
        buffer_format(out,
                      "\nAll its memory grows by %s an hour (%s to %s), seen "
                      "over %s.\n",
                      bytes_text(facts->growth).text,
                      bytes_text(facts->growth_low).text,
                      bytes_text(facts->growth_high).text,
                      span_text(facts->growth_hours * 3600).text);
    if (facts->hours_far > 0)
        buffer_format(out,
                      "If that went on, %s would be reached in %s, which is "
                      "too far ahead to be predicted from what was seen.\n",
                      finding_limit_name(facts),
                      span_text(facts->hours_far * 3600).text);
    for (size_t i = 0; i < facts->trend_count; i++) {
        const struct fact_trend *trend = &facts->trends[i];

        judged += trend->kind != FACT_UNCERTAIN;
        if ((trend->kind != FACT_GROWS && trend->kind != FACT_FILLS) ||
            trend->low <= 0)
            continue;
        if (grow++ == 0)
            buffer_text(out, "\nWhat grows, in an hour (between these two with "
                             "98 % confidence):\n");
        buffer_format(out, "  %10s (%s to %s)  %s%s\n",
                      bytes_text(trend->per_hour).text,
                      bytes_text(trend->low).text, bytes_text(trend->high).text,
                      trend->function,
                      trend->kind == FACT_FILLS ? ", slower and slower" : "");
    }
    if (judged > 0 && grow == 0)
        buffer_format(
            out, "\nNo function's memory is seen to grow: %zu %s judged.\n",
            judged, judged == 1 ? "was" : "were");
}

void
diagnosis_write(const struct diagnosis_facts *facts,
                const struct diagnosis *diagnosis, struct buffer *out)
{
    char at[CLOCK_TEXT];

    for (size_t i = 0; i < diagnosis->count; i++)
        write_finding(&diagnosis->findings[i], out);
    write_parts(facts, out);
    write_holders(facts, out);
    write_growth(facts, out);
    if (facts->figures_ms <= 0)
        return;
    clock_text(facts->figures_ms, at, sizeof(at));
    buffer_format(out, "\nNode %" PRIu32 ", figures of %s UTC", facts->node_id,
                  at);
    if (facts->owners_ms > 0) {
        clock_text(facts->owners_ms, at, sizeof(at));
        buffer_format(out, "; owners of mappings: %s UTC", at);
    }
    buffer_text(out, ".\n");
}
