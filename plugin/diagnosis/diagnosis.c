/*
 * diagnosis.c - one function a finding.
 *
 * Each looks at the facts and adds what it finds, or nothing.  A fact that is
 * not known is never the reason for a finding; FINDING_NOT_KNOWN_YET says which
 * facts are missing.  What is small beside RSS is left out, because a page that
 * always warns is read once.
 */
#include "diagnosis.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "diagnosis_bytes.h"
#include "diagnosis_facts.h"

enum {
    FULL_SOON_HOURS = 24,
    LIMIT_LOW_PERCENT = 85, /* of the limit that the program itself uses */
    LEAK_DAY_PERCENT = 5,   /* of its bytes: what a leak adds a day at least */
    SLOW_DECAY_MS = 60 * 1000,
    SAME_KIND = 3 /* findings of one kind */
};

/* Every other kind is found once. */
_Static_assert(FINDING_KINDS + 3 * (SAME_KIND - 1) <= FINDINGS_MAX,
               "every finding has room");

static struct finding *
add_finding(struct diagnosis *diagnosis, enum finding_kind kind,
            enum finding_certainty certainty, const char *subject, double bytes)
{
    struct finding *finding = &diagnosis->findings[diagnosis->count++];

    finding->kind = kind;
    finding->certainty = certainty;
    finding->bytes = bytes > 0 ? (uint64_t)bytes : 0;
    if (subject && snprintf(finding->subject, sizeof(finding->subject), "%s",
                            subject) >= (int)sizeof(finding->subject))
        memcpy(finding->subject + sizeof(finding->subject) - 4, "...", 4);
    return finding;
}

static void __attribute__((format(printf, 2, 3)))
explain_finding(struct finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(finding->why, sizeof(finding->why), format, args);
    va_end(args);
}

static void __attribute__((format(printf, 2, 3)))
add_step(struct finding *finding, const char *format, ...)
{
    va_list args;

    if (finding->step_count == FINDING_STEPS_MAX)
        return;
    va_start(args, format);
    vsnprintf(finding->steps[finding->step_count++], FINDING_TEXT_MAX, format,
              args);
    va_end(args);
}

static bool
has_finding(const struct diagnosis *diagnosis, enum finding_kind kind)
{
    for (size_t i = 0; i < diagnosis->count; i++)
        if (diagnosis->findings[i].kind == kind)
            return true;
    return false;
}

#define MB(value) (bytes_text((double)(value)).text)

/* a - b of two that are known; 0 where that is negative or unknown. */
static uint64_t
excess_of(struct fact a, struct fact b)
{
    return a.known && b.known && a.value > b.value ? a.value - b.value : 0;
}

static bool
is_worth_a_finding(const struct diagnosis_facts *facts, uint64_t bytes)
{
    uint64_t whole =
        facts->rss.known ? facts->rss.value : facts->resident.value;

    return bytes >= FINDING_WORTH_BYTES &&
           (double)bytes * 100 >= (double)whole * FINDING_WORTH_PERCENT;
}

/* ---- what has happened ---- */

static void
write_time(int64_t wall_ms, char out[CLOCK_TEXT])
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
    write_time(facts->state_since_ms, at);
    finding = add_finding(out, FINDING_DIED, FINDING_CERTAIN, NULL, 0);
    explain_finding(finding, "the database %s, at %s%s",
                    facts->state_why ? facts->state_why : "ended", at,
                    facts->oom_kills.known && facts->oom_kills.value > 0
                        ? ": the kernel had no memory left for it"
                        : "");
    if (facts->last_snapshot)
        add_step(finding,
                 "look at what it held: SELECT * FROM heap_functions "
                 "WHERE snapshot = '%.200s' ORDER BY flat_bytes DESC",
                 facts->last_snapshot);
    add_step(finding, "look at how it grew: SELECT at, rss, allocated, "
                      "cgroup_limit FROM memory_history ORDER BY at DESC");
    if (!facts->last_snapshot)
        add_step(finding, "start it with --profiling on: then snapshots are "
                          "taken at 80, 90 and 95 %% of the limit");
}

static void
find_hang(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;
    char at[CLOCK_TEXT];

    if (facts->state != FACT_HANGS)
        return;
    write_time(facts->state_since_ms, at);
    finding = add_finding(out, FINDING_HANGS, FINDING_CERTAIN, NULL, 0);
    explain_finding(finding, "the database has not answered since %s%s%s", at,
                    facts->state_why ? ": " : "",
                    facts->state_why ? facts->state_why : "");
    add_step(finding, "look at what its threads wait for, which asks it "
                      "nothing: SELECT tid, name, state, wchan, waits_for, "
                      "stack FROM threads");
}

/* ---- when it ends ---- */

static void
add_growing(const struct diagnosis_facts *facts, struct finding *finding)
{
    for (size_t i = 0; i < facts->trend_count; i++)
        if (facts->trends[i].kind == FACT_GROWS) {
            add_step(finding,
                     "what grows most is %.200s, %s an hour: SELECT * "
                     "FROM heap_trend",
                     facts->trends[i].function, MB(facts->trends[i].per_hour));
            return;
        }
    add_step(finding, "compare snapshots: SELECT function, cum_bytes FROM "
                      "heap_diff WHERE base = '...' ORDER BY cum_bytes DESC");
}

static void
find_full_soon(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;

    if (facts->state == FACT_ENDED || facts->hours_left < 0 ||
        facts->hours_left >= FULL_SOON_HOURS)
        return;
    finding =
        add_finding(out, FINDING_FULL_SOON,
                    facts->growth_low > 0 ? FINDING_LIKELY : FINDING_POSSIBLE,
                    NULL, facts->growth);
    explain_finding(
        finding,
        "at the present rate of %s an hour (%s to %s, seen over %.1f hours) "
        "%s is reached in %.1f hours",
        MB(facts->growth), MB(facts->growth_low), MB(facts->growth_high),
        facts->growth_hours,
        facts->limit.known ? "the cgroup's limit" : "the machine's memory",
        facts->hours_left);
    add_growing(facts, finding);
    if (facts->limit.known)
        add_step(finding,
                 "give it time: raise the cgroup's limit (memory.max) "
                 "above %s",
                 MB(facts->limit.value));
}

/* ---- what grows ---- */

static bool
is_leak(const struct diagnosis_facts *facts, const struct fact_trend *trend)
{
    return trend->kind == FACT_GROWS && trend->low > 0 &&
           trend->low * 24 * 100 >= (double)trend->bytes * LEAK_DAY_PERCENT &&
           (!facts->allocated.known ||
            trend->low * 24 * 100 >= (double)facts->allocated.value);
}

static void
find_leak(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    size_t found = 0;

    for (size_t i = 0; i < facts->trend_count && found < SAME_KIND; i++) {
        const struct fact_trend *trend = &facts->trends[i];
        struct finding *finding;
        bool old = trend->old_part.known && trend->old_part.value >= 50;

        if (!is_leak(facts, trend))
            continue;
        found++;
        finding = add_finding(out, FINDING_LEAK,
                              old ? FINDING_LIKELY : FINDING_POSSIBLE,
                              trend->function, (double)trend->bytes);
        explain_finding(finding,
                        "it holds %s, and %s more each hour (%s to %s), "
                        "without becoming slower",
                        MB(trend->bytes), MB(trend->per_hour), MB(trend->low),
                        MB(trend->high));
        if (trend->old_part.known)
            snprintf(finding->why + strlen(finding->why),
                     sizeof(finding->why) - strlen(finding->why),
                     "; %u %% of that is older than an hour",
                     (unsigned)trend->old_part.value);
        add_step(finding, "see who calls it: SELECT flamegraph('now', "
                          "'focus=...'), or the page");
        add_step(finding, "is it a cache without a limit? Look for its setting "
                          "before you look for a fault");
    }
}

static bool
has_trend(const struct diagnosis_facts *facts, enum fact_trend_kind kind)
{
    for (size_t i = 0; i < facts->trend_count; i++)
        if (facts->trends[i].kind == kind)
            return true;
    return false;
}

static void
find_growth(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;

    if (!facts->grows || facts->growth_low <= 0 ||
        has_finding(out, FINDING_FULL_SOON) || has_trend(facts, FACT_GROWS) ||
        has_trend(facts, FACT_FILLS) ||
        !is_worth_a_finding(facts, (uint64_t)(facts->growth_low * 24)))
        return;
    finding =
        add_finding(out, FINDING_GROWTH, FINDING_LIKELY, NULL, facts->growth);
    explain_finding(
        finding,
        "its memory grows by %s an hour (%s to %s, seen over %.1f hours); "
        "which function holds it is not known%s%s",
        MB(facts->growth), MB(facts->growth_low), MB(facts->growth_high),
        facts->growth_hours, facts->trend_why ? ": " : "",
        facts->trend_why ? facts->trend_why : "");
    if (!facts->profiling)
        add_step(finding, "switch profiling on: ADMIN EXECUTE ON ALL "
                          "'System.print(HeapProf.getInstance()"
                          ".enable_prof())'");
}

static void
find_cache(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    size_t found = 0;

    for (size_t i = 0; i < facts->trend_count && found < SAME_KIND; i++) {
        const struct fact_trend *trend = &facts->trends[i];
        struct finding *finding;

        if (trend->kind != FACT_FILLS || trend->low <= 0 ||
            trend->bytes < FINDING_WORTH_BYTES)
            continue;
        found++;
        finding = add_finding(out, FINDING_CACHE_FILLS, FINDING_LIKELY,
                              trend->function, (double)trend->bytes);
        explain_finding(finding,
                        "it holds %s and grows slower and slower, now by %s an "
                        "hour, as a cache does that fills",
                        MB(trend->bytes), MB(trend->per_hour));
        add_step(finding, "compare its size with what its setting allows; "
                          "nothing else need be done");
    }
}

/* ---- what is held and not used ---- */

static void
find_fragmentation(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    uint64_t gap = excess_of(facts->active, facts->allocated);
    const struct fact_waste *waste = facts->wastes;
    struct finding *finding;

    if (!is_worth_a_finding(facts, gap))
        return;
    finding = add_finding(out, FINDING_FRAGMENTATION, FINDING_CERTAIN,
                          facts->waste_count > 0 ? waste->function : NULL,
                          (double)gap);
    explain_finding(finding,
                    "pages that hold %s have %s of free space that no "
                    "other size can use",
                    MB(facts->allocated.value), MB(gap));
    if (facts->waste_count > 0)
        snprintf(finding->why + strlen(finding->why),
                 sizeof(finding->why) - strlen(finding->why),
                 "; %s of it (%s to %s) lies between what %.200s holds",
                 MB(waste->waste), MB(waste->low), MB(waste->high),
                 waste->function);
    add_step(finding, "see who holds the pages: SELECT * FROM heap_waste ORDER "
                      "BY waste_bytes DESC");
    add_step(finding, "let the database move what it holds, where it can "
                      "(Redis: CONFIG SET activedefrag yes)");
    add_step(finding,
             "restart it at a quiet time: only then does the rest come "
             "back");
}

static void
explain_free_pages(const struct diagnosis_facts *facts, struct finding *finding)
{
    bool never = facts->dirty_decay_ms.known &&
                 facts->dirty_decay_ms.value == UINT64_MAX;
    bool slow = facts->dirty_decay_ms.known && !never &&
                facts->dirty_decay_ms.value > SLOW_DECAY_MS;
    char most[128] = "";

    if (facts->dirtiest_bytes.known &&
        facts->dirtiest_bytes.value >= FINDING_WORTH_BYTES)
        snprintf(most, sizeof(most),
                 "; arena %llu, of %llu thread%s, has %s of them",
                 (unsigned long long)facts->dirtiest_arena.value,
                 (unsigned long long)facts->dirtiest_threads.value,
                 facts->dirtiest_threads.value == 1 ? "" : "s",
                 MB(facts->dirtiest_bytes.value));
    if (never)
        explain_finding(finding,
                        "%s of free pages stay with the process, "
                        "because opt.dirty_decay_ms is -1%s",
                        MB(finding->bytes), most);
    else if (slow)
        explain_finding(finding,
                        "%s of free pages stay with the process for "
                        "%.0f s (dirty_decay_ms)%s",
                        MB(finding->bytes),
                        (double)facts->dirty_decay_ms.value / 1000, most);
    else
        explain_finding(finding, "%s of free pages are not given back%s%s",
                        MB(finding->bytes),
                        facts->background_thread.known &&
                                facts->background_thread.value == 0
                            ? ": without background threads jemalloc gives "
                              "pages back only while the program allocates"
                            : "",
                        most);
}

static void
find_free_pages(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    uint64_t gap = excess_of(facts->resident, facts->active);
    struct finding *finding;

    gap -= facts->metadata.known && facts->metadata.value < gap
               ? facts->metadata.value
               : 0;
    if (!is_worth_a_finding(facts, gap))
        return;
    finding = add_finding(out, FINDING_FREE_PAGES, FINDING_CERTAIN, NULL,
                          (double)gap);
    explain_free_pages(facts, finding);
    if (facts->state != FACT_SERVES)
        return;
    add_step(finding, "give them back once, which takes milliseconds: ADMIN "
                      "EXECUTE ON <node> 'System.print(Jemalloc.getInstance()"
                      ".purge())'");
    add_step(finding,
             "try whether background threads keep it low, for an hour: "
             "...'System.print(Jemalloc.getInstance()"
             ".background_threads(true, 3600))'");
    add_step(finding, "then set background_thread:true (and dirty_decay_ms) in "
                      "MALLOC_CONF");
}

static void
find_outside(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    uint64_t gap = excess_of(facts->rss, facts->resident);
    uint64_t elsewhere =
        facts->elsewhere_resident.known ? facts->elsewhere_resident.value : 0;
    struct finding *finding;
    size_t used;

    gap -= elsewhere < gap ? elsewhere : gap;
    if (!facts->has_jemalloc || !is_worth_a_finding(facts, gap))
        return;
    finding = add_finding(out, FINDING_OUTSIDE, FINDING_CERTAIN,
                          facts->owner_count > 0 ? facts->owners[0].name : NULL,
                          (double)gap);
    explain_finding(finding, "%s of RSS are not jemalloc's", MB(gap));
    for (size_t i = 0; i < facts->owner_count && i < 4; i++) {
        used = strlen(finding->why);
        snprintf(finding->why + used, sizeof(finding->why) - used,
                 "%s%.100s %s", i == 0 ? ": " : ", ", facts->owners[i].name,
                 MB(facts->owners[i].bytes));
    }
    used = strlen(finding->why);
    if (facts->owner_count == 0 && facts->owners_why)
        snprintf(finding->why + used, sizeof(finding->why) - used,
                 "; whose they are is not known: %.300s", facts->owners_why);
    add_step(finding, "see each with its owner: SELECT kind, owner, SUM(rss) "
                      "FROM mappings GROUP BY kind, owner ORDER BY 3 DESC");
}

static void
find_low_limit(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    const struct fact held =
        facts->allocated.known ? facts->allocated : facts->rss;
    struct finding *finding;

    if (facts->state == FACT_ENDED || !facts->limit.known || !held.known ||
        (double)held.value * 100 <
            (double)facts->limit.value * LIMIT_LOW_PERCENT)
        return;
    if (has_finding(out, FINDING_LEAK) || has_finding(out, FINDING_FULL_SOON))
        return;
    finding = add_finding(out, FINDING_LIMIT_LOW, FINDING_LIKELY, NULL,
                          (double)facts->limit.value);
    explain_finding(finding,
                    "%s in use are %.0f %% of the cgroup's limit of %s, and "
                    "nothing leaks that is known of",
                    MB(held.value),
                    100.0 * (double)held.value / (double)facts->limit.value,
                    MB(facts->limit.value));
    add_step(finding, "make the database's caches smaller by its settings");
    add_step(finding, "raise the limit: a quarter above what it uses is usual");
}

/* ---- what is not known ---- */

static void
find_unknown(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    struct finding *finding;

    if (facts->state == FACT_ENDED || facts->state == FACT_HANGS ||
        (facts->growth_judged && facts->trend_count > 0))
        return;
    finding = add_finding(out, FINDING_NOT_KNOWN_YET, FINDING_CERTAIN, NULL, 0);
    explain_finding(finding, "whether %s: %s",
                    facts->growth_judged ? "a function's memory grows"
                                         : "its memory grows",
                    facts->growth_judged && facts->trend_why ? facts->trend_why
                    : facts->growth_why                      ? facts->growth_why
                                        : "it was not seen for long enough");
    if (!facts->profiling)
        add_step(finding,
                 "switch profiling on%s%s: then a snapshot is kept "
                 "each hour",
                 facts->profiling_why ? ", which is off: " : "",
                 facts->profiling_why ? facts->profiling_why : "");
    else
        add_step(finding, "ask again after some hours");
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
    if (out->count == 0 && facts->state == FACT_SERVES)
        explain_finding(
            add_finding(out, FINDING_NOTHING_UNUSUAL, FINDING_LIKELY, NULL, 0),
            "no part of its memory is unusual, and nothing is seen to grow");
    find_unknown(facts, out);
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
finding_word(enum finding_kind kind)
{
    return words[kind];
}

const char *
finding_certainty_word(enum finding_certainty certainty)
{
    static const char *const certainties[] = {"possible", "likely", "certain"};

    return certainties[certainty];
}
