/*
 * find_unused.c - memory that is held but not used, and by whom; and the limit.
 *
 * What is small compared with RSS is left out, because a page that always warns
 * is read once.  What was not there for half a minute is left out, too: a load
 * comes and goes, jemalloc gives pages back after seconds, and figures that
 * were taken at two times differ while both change.  The steps begin with what
 * only looks, then what can be taken back, then what cannot.  Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "finding.h"

enum {
    LIMIT_LOW_PERCENT = 85, /* of the cgroup's limit, used by the program */
    /* of the machine's memory: a database is often given most of it */
    MACHINE_LOW_PERCENT = 92,
    NAME_SHOWN = 200,
    OWNERS_SHOWN = 3,
    SUBJECT_SHARE = 4 /* at least a quarter of what is wasted */
};

#define LEVER "ADMIN EXECUTE ON %u 'System.print(Jemalloc.getInstance().%s)';"

/* Bytes that jemalloc counts as resident, but which cannot be: they were never
 * touched, or are swapped out. */
static uint64_t
count_missing(const struct diagnosis_facts *facts)
{
    const struct fact *const parts[] = {&facts->allocated,   &facts->inside,
                                        &facts->padding,     &facts->free_pages,
                                        &facts->bookkeeping, &facts->elsewhere};
    uint64_t counted = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        counted += parts[i]->known ? parts[i]->value : 0;
    counted += facts->rss_file.known ? facts->rss_file.value : 0;
    return counted > facts->rss.value ? counted - facts->rss.value : 0;
}

static struct fact
subtract_from_fact(struct fact of, uint64_t bytes)
{
    return (struct fact){of.known, of.value > bytes ? of.value - bytes : 0};
}

/* A function is named in the finding if a good part of the waste is between its
 * objects; the figures are in why. */
static bool
is_its_fragmentation(const struct diagnosis_facts *facts)
{
    return facts->waste.function &&
           facts->waste.waste >= facts->inside.value / SUBJECT_SHARE;
}

void
find_fragmentation(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    const struct fact_waste *waste = &facts->waste;
    uint64_t missing = count_missing(facts);
    bool named = is_its_fragmentation(facts);
    enum finding_certainty certainty = FINDING_CERTAIN;
    struct finding *finding;

    if (!finding_is_worth(facts, facts->inside, facts->least_inside))
        return;
    if (!finding_is_worth(facts, subtract_from_fact(facts->inside, missing),
                          subtract_from_fact(facts->least_inside, missing)))
        certainty = FINDING_POSSIBLE;
    else if (named && waste->low < waste->waste / 2)
        certainty = FINDING_LIKELY;
    finding = finding_add(out, FINDING_FRAGMENTATION, certainty,
                          named ? waste->function : NULL,
                          (double)facts->inside.value);
    finding_explain(finding,
                    "between the %s that are in use, %s of its pages are free, "
                    "in pieces that no other size can use",
                    MB(facts->allocated.value), MB(facts->inside.value));
    if (certainty == FINDING_POSSIBLE)
        finding_explain(
            finding,
            "; but %s of what jemalloc counts are not in memory "
            "(never touched, or swapped out), and may be just these",
            MB(missing));
    if (waste->function)
        finding_explain(finding,
                        "; %s of it (%s to %s) lies between the objects of "
                        "%" PRIu64 " bytes that %.*s allocated",
                        MB(waste->waste), MB(waste->low), MB(waste->high),
                        waste->size_class, NAME_SHOWN, waste->function);
    finding_step(finding,
                 "See who keeps these pages: SELECT `function`, "
                 "size_class, live_bytes, waste_bytes FROM "
                 "heapwire.heap_waste WHERE within = 'active' ORDER BY "
                 "waste_bytes DESC LIMIT 10;");
    finding_step(finding,
                 "Let the database move its objects together, if it can "
                 "(Redis with its own jemalloc: CONFIG SET activedefrag yes).");
    finding_step(finding, "Restart it at a quiet time: that gives all of it "
                          "back, until the same load comes again.");
}

static void
step_for_cause(const struct diagnosis_facts *facts, struct finding *finding)
{
    unsigned node = (unsigned)facts->node_id;

    if (facts->free_cause == FREE_PAGES_NEVER)
        finding_step(
            finding,
            "Try for an hour whether they stay few with a decay: " LEVER, node,
            "decay(10000, 0, 3600)");
    else if (facts->free_cause == FREE_PAGES_IDLE)
        finding_step(finding,
                     "Try for an hour whether background threads keep them "
                     "few: " LEVER,
                     node, "background_threads(true, 3600)");
    else if (facts->free_cause == FREE_PAGES_DECAY)
        finding_step(
            finding,
            "Try for an hour whether a shorter decay keeps them few: " LEVER,
            node, "decay(1000, 0, 3600)");
}

void
find_free_pages(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    static const char *const settings[] = {
        [FREE_PAGES_UNKNOWN] = NULL, /* a wrong option may stop its start */
        [FREE_PAGES_NEVER] = "dirty_decay_ms:10000",
        [FREE_PAGES_IDLE] = "background_thread:true",
        [FREE_PAGES_DECAY] = "dirty_decay_ms:1000"};
    struct finding *finding;

    if (!finding_is_worth(facts, facts->free_pages, facts->least_free_pages))
        return;
    finding = finding_add(out, FINDING_FREE_PAGES, FINDING_CERTAIN, NULL,
                          (double)facts->free_pages.value);
    if (facts->free_why)
        finding_explain(finding, "%s", facts->free_why);
    else
        finding_explain(finding, "%s of free pages are kept",
                        MB(facts->free_pages.value));
    if (facts->state == FACT_SERVES && facts->has_levers) {
        finding_step(finding,
                     "See what the levers may do to the database: " LEVER,
                     (unsigned)facts->node_id, "risks()");
        finding_step(finding, "Give them back once: " LEVER,
                     (unsigned)facts->node_id, "purge()");
        step_for_cause(facts, finding);
    }
    if (settings[facts->free_cause])
        finding_step(finding,
                     "If that helped, keep it: start the database with "
                     "%s=%s in its environment.",
                     facts->variable ? facts->variable : "MALLOC_CONF",
                     /* where most are muzzy, dirty_decay_ms alone would not
                      * give them back */
                     facts->free_cause != FREE_PAGES_IDLE &&
                             facts->muzzy.value > facts->free_pages.value / 2
                         ? "muzzy_decay_ms:0"
                         : settings[facts->free_cause]);
    else
        finding_step(finding, "Restart it at a quiet time: that gives all of "
                              "it back, until the same load comes again.");
}

/* The owner's name up to its figures: those change, and a verdict should
 * not. */
void
find_outside(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    char owner[FINDING_SUBJECT_MAX] = "";
    struct finding *finding;

    if (!facts->has_jemalloc || !finding_is_outside_worth(facts))
        return;
    if (facts->owner_count > 0) /* the figures behind it stand in why */
        snprintf(owner, sizeof(owner), "%.*s",
                 (int)strcspn(facts->owners[0].name, "("),
                 facts->owners[0].name);
    if (*owner && owner[strlen(owner) - 1] == ' ')
        owner[strlen(owner) - 1] = '\0';
    finding = finding_add(out, FINDING_OUTSIDE, FINDING_CERTAIN, owner,
                          (double)facts->outside.value);
    finding_explain(finding, "%s of RSS are not jemalloc's",
                    MB(facts->outside.value));
    for (size_t i = 0; i < facts->owner_count && i < OWNERS_SHOWN; i++)
        finding_explain(finding, "%s %s are %.*s", i == 0 ? ":" : ",",
                        MB(facts->owners[i].bytes), NAME_SHOWN / 2,
                        facts->owners[i].name);
    if (facts->owner_count == 0)
        finding_explain(finding, "; whose they are is not known%s%.300s",
                        facts->owners_why ? ": " : "",
                        facts->owners_why ? facts->owners_why : "");
    finding_step(finding, "See each mapping with its owner: SELECT kind, "
                          "owner, name, rss, first_seen FROM heapwire.mappings "
                          "WHERE kind <> 'jemalloc' ORDER BY rss DESC LIMIT "
                          "20;");
    finding_step(finding,
                 "Compare their sizes with the database's settings: many map "
                 "their buffer pool themselves (MariaDB: "
                 "innodb_buffer_pool_size), and that is no fault.");
}

/* Not where a leak or an end in sight was found: then the limit is not at
 * fault. */
void
find_low_limit(const struct diagnosis_facts *facts, struct diagnosis *out)
{
    const struct fact held = facts->least_resident;
    unsigned percent =
        facts->limit_is_machines ? MACHINE_LOW_PERCENT : LIMIT_LOW_PERCENT;
    struct finding *finding;

    if (facts->state == FACT_ENDED || !facts->limit.known || !held.known ||
        (double)held.value * 100 < (double)facts->limit.value * percent)
        return;
    if (finding_is_there(out, FINDING_LEAK) ||
        finding_is_there(out, FINDING_FULL_SOON))
        return;
    finding = finding_add(out, FINDING_LIMIT_LOW, FINDING_LIKELY, NULL,
                          (double)facts->limit.value);
    finding_explain(
        finding,
        "%s are in use, which is %.0f %% of %s of %s, and nothing "
        "is known to leak",
        MB(held.value), 100.0 * (double)held.value / (double)facts->limit.value,
        facts->limit_is_machines ? "what this machine has for the database"
                                 : "the cgroup's limit",
        MB(facts->limit.value));
    finding_step(finding, "See who uses it: SELECT `function`, flat_bytes FROM "
                          "heapwire.heap_functions ORDER BY flat_bytes DESC "
                          "LIMIT 10;");
    finding_step(finding,
                 "Make the database's caches smaller by its settings.");
    if (facts->limit_is_machines)
        finding_step(finding, "Move other programs, or the database, to "
                              "another machine.");
    else
        finding_step(finding,
                     "Raise the limit of its cgroup or container: a quarter "
                     "above what is in use would be %s.",
                     MB((double)held.value * 1.25));
}
