/*
 * diagnosis_page.c - the diagnosis as a page of plain text.
 *
 * What a person in a hurry reads first stands first: the findings, each with
 * its steps; then where the bytes of RSS are; then what grew.
 */
#include "diagnosis.h"

#include <stdbool.h>

#include "buffer.h"
#include "clock.h"
#include "diagnosis_bytes.h"
#include "diagnosis_facts.h"

static void
write_finding(const struct finding *finding, struct buffer *out)
{
    buffer_format(out, "%s", finding_word(finding->kind));
    if (finding->subject[0])
        buffer_format(out, " in %s", finding->subject);
    buffer_format(out, " (%s): %s.\n",
                  finding_certainty_word(finding->certainty), finding->why);
    for (size_t i = 0; i < finding->step_count; i++)
        buffer_format(out, "  %zu. %s\n", i + 1, finding->steps[i]);
}

static void
write_part(struct buffer *out, const char *what, uint64_t bytes, uint64_t whole)
{
    buffer_format(out, "  %10s  %3.0f %%  %s\n", bytes_text((double)bytes).text,
                  whole > 0 ? 100.0 * (double)bytes / (double)whole : 0.0,
                  what);
}

static uint64_t
gap_of(struct fact a, struct fact b)
{
    return a.known && b.known && a.value > b.value ? a.value - b.value : 0;
}

static void
write_parts(const struct diagnosis_facts *facts, struct buffer *out)
{
    uint64_t rss = facts->rss.value, free_pages, metadata, outside;

    if (!facts->rss.known) {
        buffer_text(out, "\nWhere RSS is: it is not known.\n");
        return;
    }
    buffer_format(out, "\nWhere RSS is (%s):\n", bytes_text((double)rss).text);
    if (!facts->has_jemalloc || !facts->allocated.known) {
        for (size_t i = 0; i < facts->owner_count; i++)
            write_part(out, facts->owners[i].name, facts->owners[i].bytes, rss);
        if (facts->owner_count == 0)
            buffer_text(out, "  it has no jemalloc whose figures are known.\n");
        return;
    }
    metadata = facts->metadata.known ? facts->metadata.value : 0;
    free_pages = gap_of(facts->resident, facts->active);
    free_pages -= metadata < free_pages ? metadata : free_pages;
    write_part(out, "in use by the program", facts->allocated.value, rss);
    write_part(out, "free within pages in use (fragmentation)",
               gap_of(facts->active, facts->allocated), rss);
    write_part(out, "free pages that are kept", free_pages, rss);
    write_part(out, "jemalloc's bookkeeping", metadata, rss);
    outside = gap_of(facts->rss, facts->resident);
    outside -= facts->elsewhere_resident.value < outside
                   ? facts->elsewhere_resident.value
                   : outside;
    if (facts->elsewhere_resident.known)
        write_part(out, "of other jemallocs", facts->elsewhere_resident.value,
                   rss);
    write_part(out, "outside the allocator", outside, rss);
    for (size_t i = 0; i < facts->holder_count; i++)
        if (i == 0)
            buffer_format(out, "Of what is in use, %s holds %s",
                          facts->holders[i].name,
                          bytes_text((double)facts->holders[i].bytes).text);
        else
            buffer_format(out, ", %s %s", facts->holders[i].name,
                          bytes_text((double)facts->holders[i].bytes).text);
    if (facts->holder_count > 0)
        buffer_text(out, ".\n");
}

static void
write_growth(const struct diagnosis_facts *facts, struct buffer *out)
{
    static const char *const kinds[] = {"not known yet", "steady",
                                        "up and down", "fills", "grows"};
    bool first = true;

    if (facts->grows)
        buffer_format(out,
                      "\nIts memory over %.1f hours: %s an hour (%s to %s).\n",
                      facts->growth_hours, bytes_text(facts->growth).text,
                      bytes_text(facts->growth_low).text,
                      bytes_text(facts->growth_high).text);
    for (size_t i = 0; i < facts->trend_count; i++) {
        const struct fact_trend *trend = &facts->trends[i];

        if (trend->kind == FACT_UNCERTAIN)
            continue;
        if (first)
            buffer_text(out, "\nWhat grew, an hour:\n");
        first = false;
        buffer_format(out, "  %10s (%s to %s)  %s: %s\n",
                      bytes_text(trend->per_hour).text,
                      bytes_text(trend->low).text, bytes_text(trend->high).text,
                      trend->function, kinds[trend->kind]);
    }
}

void
diagnosis_write(const struct diagnosis_facts *facts,
                const struct diagnosis *diagnosis, struct buffer *out)
{
    char at[CLOCK_TEXT];

    for (size_t i = 0; i < diagnosis->count; i++)
        write_finding(&diagnosis->findings[i], out);
    write_parts(facts, out);
    write_growth(facts, out);
    if (facts->figures_ms > 0) {
        clock_text(facts->figures_ms, at, sizeof(at));
        buffer_format(out, "\nFigures of %s UTC.\n", at);
    }
}
