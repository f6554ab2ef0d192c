/*
 * risks.c - see risks.h.
 *
 * Numbers behind # are those of jemalloc's own issues, others of its commits.
 * heapwire warns and does not refuse: most databases never meet these faults,
 * and their operators know what they risk.
 */
#include "risks.h"

#include <stdio.h>
#include <string.h>

#include "stats.h"

#define VERSION(major, minor, patch)                                           \
    ((unsigned)(major)*1000000 + (unsigned)(minor)*1000 + (unsigned)(patch))
#define OLDEST 0
#define NEWEST VERSION(5, 3, 1) /* that these notes know */

static const struct version_risk {
    unsigned from, to; /* inclusive */
    const char *text;
} bad_versions[] = {
    {OLDEST, VERSION(5, 1, 999),
     "this jemalloc is older than any that heapwire is tested with"},
    {VERSION(5, 2, 0), VERSION(5, 2, 1),
     "switching profiling on later is unreliable: threads of before may never "
     "be sampled (#1605); start with prof_active:true"},
    {OLDEST, VERSION(5, 2, 1),
     "sizes in its profiles are biased, in a published case by 20 percent "
     "(fixed in 5.3.0)"},
    {VERSION(5, 2, 1), VERSION(5, 2, 1),
     "crashes in arena_prof_demote are reported (#2556)"},
    {VERSION(5, 3, 0), VERSION(5, 3, 0),
     "crashes in prof_free_sampled_object and prof_tdata_destroy_locked are "
     "reported, one with profiling inactive (#2662, #2681)"},
    {VERSION(5, 3, 1), VERSION(5, 3, 1),
     "a crash when threads end is reported (#2981); it is not the profiler's"},
    {VERSION(5, 3, 0), NEWEST,
     "while a dump runs, the program's own reading of statistics (mallctl "
     "epoch) and its fork() wait"},
    {OLDEST, VERSION(5, 2, 1), "while a dump runs, the program's fork() waits"},
    {OLDEST, VERSION(5, 3, 0),
     "every sampled small object takes four pages of its own"},
    {NEWEST + 1, ~0U,
     "this jemalloc is newer than what heapwire knows of its risks"},
};

static const struct option_risk {
    const char *name;
    int64_t harmless;
    const char *text;
    unsigned to; /* version, inclusive; 0: all that are known */
} bad_options[] = {
    {"opt.prof_leak_error", 0,
     "opt.prof_leak_error is set: a dump may end the process with status 1"},
    {"opt.abort", 0,
     "opt.abort is set: a failing write of jemalloc's own dumps aborts the "
     "process"},
    {"opt.prof_gdump", 0,
     "opt.prof_gdump is set: jemalloc writes a file at each new maximum of "
     "memory"},
    {"opt.lg_prof_interval", -1,
     "opt.lg_prof_interval is set: jemalloc writes files by itself"},
    {"opt.prof_final", 0,
     "opt.prof_final is set: jemalloc writes a file when the process ends, and "
     "may hang there"},
    {"opt.prof_leak", 0,
     "opt.prof_leak is set: jemalloc reports leaks when the process ends, and "
     "may hang there"},
    {"opt.prof_accum", 0,
     "opt.prof_accum is set: memory for each distinct stack is never given "
     "back"},
    {"opt.prof_sys_thread_name", 0,
     "opt.prof_sys_thread_name is set: a dump may meet a thread's name while "
     "that is replaced, and crash (5fd55837, fixed in 5.3.1)",
     VERSION(5, 3, 0)},
};

enum { PAGE_BYTES = 4096 };
enum { OPTIONS = sizeof(bad_options) / sizeof(bad_options[0]) };
_Static_assert(OPTIONS + sizeof(bad_versions) / sizeof(bad_versions[0]) <=
                   RISKS_MAX,
               "every risk has room");

/* 0 if the text is no version, such as a development build's. */
static unsigned
parse_version(const char *text)
{
    unsigned major, minor, patch;

    /* NOLINTNEXTLINE(cert-err34-c): bounded widths */
    if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) != 3)
        return 0;
    return VERSION(major, minor, patch);
}

void
risks_read_options(const struct stats *stats, struct risk_options *out)
{
    out->known = true;
    out->set = 0;
    for (size_t i = 0; i < stats->named_count; i++) {
        const struct stats_named *named = &stats->named[i];

        for (unsigned k = 0; k < OPTIONS; k++)
            if (strcmp(named->name, bad_options[k].name) == 0 &&
                named->is_number && named->number != bad_options[k].harmless)
                out->set |= 1U << k;
    }
}

size_t
risks_list(const char *version, const struct risk_options *options,
           const char *out[RISKS_MAX])
{
    unsigned number = parse_version(version);
    size_t count = 0;

    if (number == 0)
        out[count++] = "this jemalloc's version cannot be read: its risks are "
                       "not known";
    for (size_t i = 0;
         number && i < sizeof(bad_versions) / sizeof(bad_versions[0]); i++)
        if (number >= bad_versions[i].from && number <= bad_versions[i].to)
            out[count++] = bad_versions[i].text;
    for (unsigned k = 0; k < OPTIONS; k++)
        if (options->set & 1U << k &&
            (bad_options[k].to == 0 || number <= bad_options[k].to))
            out[count++] = bad_options[k].text;
    return count;
}

unsigned
risks_pages_per_sample(const char *version)
{
    unsigned number = parse_version(version);

    /* Up to 5.3.0 a sampled small object is promoted to the smallest large size
     * class, of four pages.  Also assumed of an unknown version. */
    return number > VERSION(5, 3, 0) ? 1 : 4;
}

double
risks_sample_bytes(const char *version, uint64_t samples)
{
    return (double)samples * risks_pages_per_sample(version) * PAGE_BYTES;
}
