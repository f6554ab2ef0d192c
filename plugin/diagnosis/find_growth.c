/* find_growth.c - what grows, and when it meets its limit.
 *
 * A leak and a cache that fills look alike for hours; what tells them apart is
 * the pace (a cache slows down), the age of the bytes (a queue's and a growing
 * table's are young), and time.  So nothing is called a leak before LEAK_POINTS
 * hourly snapshots, and every sentence says what was seen.  The bounds of the
 * intervals are compared, not the estimates: a sampling error is no growth.
 * The findings of functions come first; the growth of everything is reported
 * only if none of them explains it.  Pure. */
#include <math.h>

#include "finding.h"
#include "outlook.h"

enum {
    FULL_SOON_HOURS = 24,
    LEAK_DAY_PERCENT = 5, /* of its bytes: a leak adds that much a day */
    GAINED_PERCENT = 3,   /* of everything: it has added that much so far */
    LEAK_OLD_PERCENT = 50,
    LEAK_POINTS = 36, /* fewer cannot tell it from a cache that fills */
    SAME_KIND = 3,    /* findings of one kind */
    GROWTH_SEEN_MINUTES = 10,
    DAY_HOURS = 24
};

/* All other kinds are found at most once; GROWTH has one more for the whole,
 * and NOT_KNOWN_YET has one more. */
_Static_assert(FINDING_KINDS + 3 * (SAME_KIND - 1) + 2 <= FINDINGS_MAX,
               "every finding has room");

/* Shares of its first pace: a function that may have become slower than the
 * first is not called a leak; one that surely has become slower than the second
 * is a cache. */
static const double leak_pace = 0.7, cache_pace = 0.8;

const char *
finding_limit_name(const struct diagnosis_facts *facts)
{
    return facts->limit_is_machines ? "all that this machine has left for it"
                                    : "the cgroup's limit";
}

bool
is_growth_seen_for_long(const struct diagnosis_facts *facts)
{
    return facts->growth_hours * 60 >= GROWTH_SEEN_MINUTES;
}

/* A step for the time in which heap_trend has too few snapshots to tell. */
static void
step_who_grew(const struct diagnosis_facts *facts, struct finding *finding)
{
    if (facts->first_snapshot)
        finding_step(finding,
                     "See which functions hold more than at the oldest "
                     "snapshot: SELECT `function`, flat_bytes, significant "
                     "FROM heapwire.heap_diff WHERE base = '%.200s' ORDER BY "
                     "flat_bytes DESC LIMIT 10;",
                     facts->first_snapshot);
    else
        finding_step(finding,
                     "Keep a snapshot, and compare it after some minutes with "
                     "SELECT * FROM heapwire.heap_diff WHERE base = 'before': "
                     "ADMIN EXECUTE ON %u 'System.print(HeapProf.getInstance()"
                     ".snapshot(\"before\"))';",
                     (unsigned)facts->node_id);
}

void
find_full_soon(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;

    if (facts->state == FACT_ENDED || facts->hours_left < 0 ||
        facts->hours_left >= FULL_SOON_HOURS)
        return;
    finding = finding_add(out, FINDING_FULL_SOON,
                          is_growth_seen_for_long(facts) ? FINDING_LIKELY
                                                         : FINDING_POSSIBLE,
                          NULL, facts->growth);
    finding_explain(
        finding,
        "it grows by %s an hour (%s to %s, seen over %s); if that goes on, %s "
        "is reached in %s",
        MB(facts->growth), MB(facts->growth_low), MB(facts->growth_high),
        SPAN(facts->growth_hours * 3600), finding_limit_name(facts),
        SPAN(facts->hours_left * 3600));
    if (facts->limit.known)
        finding_explain(finding, ", at %s", MB(facts->limit.value));
    if (facts->trend_count == 0 && facts->profiling)
        step_who_grew(facts, finding);
    else
        finding_step(finding, "See which functions grow: SELECT function, "
                              "bytes, bytes_per_hour, verdict FROM "
                              "heapwire.heap_trend;");
    finding_step(finding, "See how it came to that: SELECT at, rss, allocated, "
                          "cgroup_current FROM heapwire.memory_history ORDER "
                          "BY at DESC LIMIT 100;");
    if (facts->limit_is_machines)
        finding_step(finding, "Gain time: end what else takes memory on this "
                              "machine, or make the database's caches smaller "
                              "by its settings.");
    else
        finding_step(finding,
                     "Gain time: raise the limit of its cgroup or container "
                     "above %s, or make the database's caches smaller by its "
                     "settings.",
                     facts->limit.known ? MB(facts->limit.value)
                                        : "what it is");
}

/* ---- functions ---- */

/* Whether the growth matters, by its lower bound: what it adds a day (also to
 * the whole: 1 %), and what it has added so far. */
static bool
is_growth_worth(const struct diagnosis_facts *facts,
                const struct fact_trend *trend)
{
    double whole = facts->allocated.known ? (double)facts->allocated.value
                                          : (double)facts->rss.value;

    if (trend->alone ||
        trend->low * trend->hours * 100 < whole * GAINED_PERCENT)
        return false;
    /* of its own bytes LEAK_DAY_PERCENT a day, and of everything 1 % a day */
    return trend->kind == FACT_GROWS && trend->low > 0 &&
           trend->low * 24 * 100 >= (double)trend->bytes * LEAK_DAY_PERCENT &&
           trend->low * 24 * 100 >= whole;
}

/* It flattens, or has surely become slower. */
static bool
is_filling(const struct fact_trend *trend)
{
    return trend->kind == FACT_FILLS ||
           (trend->kind == FACT_GROWS && trend->pace_high <= cache_pace);
}

static bool
is_old(const struct fact_trend *trend)
{
    return trend->old_part.known && trend->old_part.value >= LEAK_OLD_PERCENT;
}

/* Leaked bytes get old.  A queue that gets longer, or a table that is copied as
 * it grows, grows too, but its bytes are young. */
static void
explain_age(const struct fact_trend *trend, struct finding *finding)
{
    if (!trend->old_part.known)
        finding_explain(finding, "; how old its bytes are is not known");
    else if (is_old(trend))
        finding_explain(finding, "; %u %% of that is older than %s",
                        (unsigned)trend->old_part.value, SPAN(trend->old_s));
    else
        finding_explain(finding,
                        "; but only %u %% of that is older than %s, as in a "
                        "queue that gets longer or a table that is copied as "
                        "it grows",
                        (unsigned)trend->old_part.value, SPAN(trend->old_s));
}

static void
explain_pace(const struct fact_trend *trend, bool leaks,
             struct finding *finding)
{
    finding_explain(finding,
                    "what it allocated and is still in use is %s, and grows by "
                    "%s an hour (%s to %s)",
                    MB(trend->bytes), MB(trend->per_hour), MB(trend->low),
                    MB(trend->high));
    if (leaks)
        finding_explain(finding, " without getting much slower");
    else if (trend->pace_high < 1)
        finding_explain(finding, ", slower than at first: it may be a cache "
                                 "that fills, or a leak");
    else
        finding_explain(finding,
                        ": a leak, or a cache that fills; after %s of "
                        "observation that is not certain yet",
                        SPAN(trend->hours * 3600));
}

static void
add_grower(const struct fact_trend *trend, size_t place, bool leaks,
           struct diagnosis *out)
{
    struct finding *finding =
        finding_add(out, leaks ? FINDING_LEAK : FINDING_GROWTH,
                    leaks && !is_old(trend) ? FINDING_POSSIBLE : FINDING_LIKELY,
                    trend->function, (double)trend->bytes);

    explain_pace(trend, leaks, finding);
    explain_age(trend, finding);
    finding_step(finding,
                 "See who calls it: SELECT folded FROM heapwire.heap_trend "
                 "WHERE verdict = 'grows' ORDER BY bytes_per_hour DESC "
                 "LIMIT %zu;",
                 place);
    finding_step(finding,
                 "Find out whether it is a cache, and what its setting allows: "
                 "look for that before you look for a fault.");
    if (leaks)
        finding_step(finding, "If it is a fault, report it with the profile "
                              "that this writes: heapwire get pprof now -o "
                              "heap.pb.gz");
    else
        finding_step(finding, "Ask again after some hours: more snapshots tell "
                              "a leak from a cache.");
}

void
find_leak(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    /* Leaks first, then what merely grows; at most SAME_KIND of each. */
    for (int leaks = 1; leaks >= 0; leaks--)
        for (size_t i = 0, found = 0, grow = 0;
             i < facts->trend_count && found < SAME_KIND; i++) {
            const struct fact_trend *trend = &facts->trends[i];
            bool is_leak =
                trend->points >= LEAK_POINTS && trend->pace_low >= leak_pace;

            grow += trend->kind == FACT_GROWS;
            if (!is_growth_worth(facts, trend) || is_filling(trend) ||
                is_leak != (leaks == 1))
                continue;
            add_grower(trend, grow, is_leak, out);
            found++;
        }
}

static bool
is_cache(const struct fact_trend *trend)
{
    return is_filling(trend) && trend->low > 0 &&
           trend->bytes >= FINDING_WORTH_BYTES;
}

/* Whether some function is reported, as a growth, a leak or a cache. */
static bool
is_growth_reported(const struct diagnosis_facts *facts)
{
    for (size_t i = 0; i < facts->trend_count; i++)
        if (is_cache(&facts->trends[i]) ||
            (is_growth_worth(facts, &facts->trends[i]) &&
             !is_filling(&facts->trends[i])))
            return true;
    return false;
}

/* The fastest of the functions that grow, though it was not worth a finding;
 * NULL: none. */
static const struct fact_trend *
find_suspect(const struct diagnosis_facts *facts)
{
    for (size_t i = 0; i < facts->trend_count; i++)
        if (facts->trends[i].kind == FACT_GROWS)
            return &facts->trends[i];
    return NULL;
}

static void
explain_suspect(const struct diagnosis_facts *facts, struct finding *finding)
{
    const struct fact_trend *suspect = find_suspect(facts);

    if (suspect)
        finding_explain(finding,
                        "; %.200s is the most likely to hold it, with %s an "
                        "hour (%s to %s)",
                        suspect->function, MB(suspect->per_hour),
                        MB(suspect->low), MB(suspect->high));
    else
        finding_explain(finding, "; which function holds it is not known%s%s",
                        facts->trend_why ? ": " : "",
                        facts->trend_why ? facts->trend_why : "");
}

void
find_growth(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    /* a day ahead, or only as far as what was seen can tell */
    double hours = fmin(DAY_HOURS, facts->growth_hours * OUTLOOK_REACH);
    const struct fact a_day = {true,
                               (uint64_t)fmax(facts->growth_low * hours, 0)};
    struct finding *finding;

    if (!facts->grows || !is_growth_seen_for_long(facts) ||
        finding_is_there(out, FINDING_FULL_SOON) || is_growth_reported(facts) ||
        !finding_is_worth(facts, a_day, a_day))
        return;
    finding =
        finding_add(out, FINDING_GROWTH, FINDING_LIKELY, NULL, facts->growth);
    finding_explain(finding,
                    "its memory grows by %s an hour (%s to %s, seen over %s)",
                    MB(facts->growth), MB(facts->growth_low),
                    MB(facts->growth_high), SPAN(facts->growth_hours * 3600));
    explain_suspect(facts, finding);
    if (!facts->profiling)
        finding_step(finding,
                     "Switch profiling on, and ask again after a day: ADMIN "
                     "EXECUTE ON %u 'System.print(HeapProf.getInstance()"
                     ".enable_prof())';",
                     (unsigned)facts->node_id);
    else {
        step_who_grew(facts, finding);
        finding_step(finding, "Ask again after some hours: a snapshot is kept "
                              "each hour, and twelve of them are enough.");
    }
}

void
find_cache(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    size_t found = 0;

    for (size_t i = 0; i < facts->trend_count && found < SAME_KIND; i++) {
        const struct fact_trend *trend = &facts->trends[i];
        struct finding *finding;

        if (!is_cache(trend))
            continue;
        found++;
        finding = finding_add(out, FINDING_CACHE_FILLS, FINDING_LIKELY,
                              trend->function, (double)trend->bytes);
        finding_explain(finding,
                        "it holds %s and grows slower and slower, now by %s an "
                        "hour, as a cache does that fills",
                        MB(trend->bytes), MB(trend->per_hour));
        finding_step(finding, "Compare its size with what its setting allows; "
                              "nothing else need be done.");
    }
}
