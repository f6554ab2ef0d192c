/*
 * diagnosis.c - the order of findings, and those that are not about memory's
 * parts; see diagnosis.h.
 *
 * A tool that always warns is not read, and one that is silent for want of data
 * is believed: so each finding has a threshold (finding.c), and a fact that is
 * not known is never the reason for a finding, nor for FINDING_NOTHING_UNUSUAL;
 * FINDING_NOT_KNOWN_YET says which facts are missing.  What has happened comes
 * first, then what will, then what is merely large.  Later findings leave out
 * what an earlier one has explained, so the order of the calls matters.  Pure:
 * all waiting was done by node_facts.c.
 */
#include "diagnosis.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "finding.h"

static void
write_state_time(int64_t wall_ms, char out[CLOCK_TEXT])
{
    if (wall_ms > 0)
        clock_text(wall_ms, out, CLOCK_TEXT);
    else
        snprintf(out, CLOCK_TEXT, "an unknown time");
}

static void
find_end(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;
    char at[CLOCK_TEXT];

    if (facts->state != FACT_ENDED || facts->ended_clean)
        return;
    write_state_time(facts->state_since_ms, at);
    finding = finding_add(out, FINDING_DIED, FINDING_CERTAIN, NULL, 0);
    finding_explain(finding, "the database %s, at %s UTC%s",
                    facts->state_why ? facts->state_why : "ended", at,
                    facts->oom_kills.known && facts->oom_kills.value > 0
                        ? ": the kernel had no memory left for it"
                        : "");
    if (facts->last_snapshot)
        finding_step(finding,
                     "See what it held: SELECT `function`, flat_bytes FROM "
                     "heapwire.heap_functions WHERE snapshot = '%.200s' ORDER "
                     "BY flat_bytes DESC LIMIT 10;",
                     facts->last_snapshot);
    finding_step(finding, "See how it grew: SELECT at, rss, allocated, "
                          "cgroup_limit FROM heapwire.memory_history ORDER BY "
                          "at DESC LIMIT 100;");
    /* without a snapshot there is nothing to show: say how to have one next
     * time */
    if (!facts->last_snapshot && facts->was_profiling)
        finding_step(finding,
                     "Profiling was on, and no snapshot was due before "
                     "its end: keep more of them, by every or growth "
                     "in [snapshots] of heapwire.ini.");
    else if (!facts->last_snapshot)
        finding_step(finding, "Start it with heapwire-run --profiling on: then "
                              "snapshots are taken at 80, 90 and 95 %% of the "
                              "limit.");
}

static void
find_hang(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;
    char at[CLOCK_TEXT];

    if (facts->state != FACT_HANGS)
        return;
    write_state_time(facts->state_since_ms, at);
    finding = finding_add(out, FINDING_HANGS, FINDING_CERTAIN, NULL, 0);
    finding_explain(finding, "the database has not answered since %s UTC%s%s",
                    at, facts->state_why ? ": " : "",
                    facts->state_why ? facts->state_why : "");
    if (facts->stopped_pid != 0)
        finding_step(finding,
                     "Let it go on, unless a debugger has it: kill -CONT %d",
                     (int)facts->stopped_pid);
    finding_step(finding,
                 "See what its threads wait for, which asks it nothing: SELECT "
                 "tid, name, state, wchan, waits_for, stack FROM "
                 "heapwire.threads;");
}

/* Whether the parts of its memory are known for half a minute. */
static bool
knows_parts(const struct diagnosis_facts *facts)
{
    return facts->rss.known && facts->least_resident.known;
}

static void
find_parts_unknown(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;

    if (facts->state != FACT_SERVES || knows_parts(facts))
        return;
    finding = finding_add(out, FINDING_NOT_KNOWN_YET, FINDING_CERTAIN, NULL, 0);
    finding_explain(finding, "whether a part of its memory is unusual: %s",
                    !facts->rss.known ? "its rss is not known"
                    : facts->has_jemalloc && !facts->allocated.known
                        ? "what jemalloc counts is not known"
                        : "it has been observed for less than half a minute");
    finding_step(finding, "Ask again after a minute.");
}

/* A part that is large enough for a finding, but not for half a minute yet; or
 * NULL. */
static const char *
find_recent_part(const struct diagnosis_facts *facts, uint64_t *bytes)
{
    const struct {
        struct fact part;
        uint64_t least;
        const char *words;
    } parts[] = {
        {facts->outside, FINDING_OUTSIDE_BYTES, "outside the allocator"},
        {facts->inside, 0, "free between what is in use"},
        {facts->free_pages, 0, "in free pages that are kept"}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (facts->has_jemalloc && parts[i].part.value >= parts[i].least &&
            finding_is_worth(facts, parts[i].part, parts[i].part)) {
            *bytes = parts[i].part.value;
            return parts[i].words;
        }
    return NULL;
}

static void
add_nothing_unusual_finding(const struct diagnosis_facts *facts,
                            struct diagnosis *out)
{
    uint64_t bytes = 0;
    const char *recent = find_recent_part(facts, &bytes);
    struct finding *finding =
        finding_add(out, FINDING_NOTHING_UNUSUAL,
                    recent ? FINDING_POSSIBLE : FINDING_LIKELY, NULL, 0);

    if (recent) {
        finding_explain(finding,
                        "no part of its memory was unusual for half a minute, "
                        "but %s are %s now",
                        bytes_text((double)bytes).text, recent);
        finding_step(finding, "Ask again after a minute.");
    } else {
        finding_explain(finding, "no part of its memory is unusual");
    }
    finding_explain(finding, ", and %s",
                    !facts->grows ? "nothing is seen to grow"
                    : is_growth_seen_for_long(facts)
                        ? "it grows by too little to matter"
                        : "its growth has been observed for too short a time");
}

static void
find_growth_unknown(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;

    if (facts->state == FACT_ENDED || facts->state == FACT_HANGS ||
        (facts->growth_judged && facts->trend_count > 0))
        return;
    finding = finding_add(out, FINDING_NOT_KNOWN_YET, FINDING_CERTAIN, NULL, 0);
    finding_explain(finding, "growth of %s: %s",
                    facts->growth_judged ? "single functions" : "its memory",
                    facts->growth_judged && facts->trend_why ? facts->trend_why
                    : !facts->growth_judged && facts->growth_why
                        ? facts->growth_why
                        : "its memory has not been observed for long enough");
    if (facts->state != FACT_SERVES)
        finding_step(finding, "Ask again once a database answers%s%s.",
                     facts->profiling_why ? ": " : "",
                     facts->profiling_why ? facts->profiling_why : "");
    else if (!facts->profiling)
        finding_step(finding,
                     "Switch profiling on: ADMIN EXECUTE ON %u "
                     "'System.print(HeapProf.getInstance().enable_prof())'; "
                     "then a snapshot is kept each hour.",
                     (unsigned)facts->node_id);
    else
        finding_step(finding, "Ask again after some hours.");
}

void
diagnosis_find(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    memset(out, 0, sizeof(*out));
    find_end(facts, out);
    find_hang(facts, out);
    find_full_soon(facts, out);
    find_leak(facts, out);
    find_growth(facts, out);
    find_fragmentation(facts, out);
    find_free_pages(facts, out);
    find_outside(facts, out);
    find_cache(facts, out);
    find_low_limit(facts, out);
    if (out->count == 0 && facts->state == FACT_SERVES && knows_parts(facts))
        add_nothing_unusual_finding(facts, out);
    find_parts_unknown(facts, out);
    find_growth_unknown(facts, out);
}

static const char *const words[FINDING_KINDS] = {
    [FINDING_DIED] = "died",
    [FINDING_HANGS] = "does not answer",
    [FINDING_FULL_SOON] = "full soon",
    [FINDING_LEAK] = "leak",
    [FINDING_GROWTH] = "growth",
    [FINDING_FRAGMENTATION] = "fragmentation",
    [FINDING_FREE_PAGES] = "free pages kept",
    [FINDING_OUTSIDE] = "outside the allocator",
    [FINDING_CACHE_FILLS] = "cache that fills",
    [FINDING_LIMIT_LOW] = "limit too low",
    [FINDING_NOT_KNOWN_YET] = "not known yet",
    [FINDING_NOTHING_UNUSUAL] = "nothing unusual"};

const char *
finding_kind_name(enum finding_kind kind)
{
    return words[kind];
}

const char *
finding_certainty_name(enum finding_certainty certainty)
{
    static const char *const certainties[] = {"possible", "likely", "certain"};

    return certainties[certainty];
}
