/* time_remarks.c - see time_remarks.h. */
#include "time_remarks.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"
#include "buffer.h"
#include "mappings.h"
#include "process_stat.h"
#include "profile.h"
#include "sample_task.h"
#include "sampler.h"
#include "unwind_tables.h"

enum {
    /* fewer threads are not worth a remark, nor are fewer than a tenth of the
     * number of samples */
    BORN_SHOWN = 10,
    BORN_SHARE = 10,
    NAME_BYTES = 32
};

void
time_remarks_rate(const struct sampler_report *report, struct buffer *out)
{
    uint32_t most = report->hz_wanted;

    if (report->way != SAMPLER_PTRACE)
        return;
    if (most > SAMPLER_PTRACE_HZ_MAX) {
        most = SAMPLER_PTRACE_HZ_MAX;
        buffer_format(out,
                      ", %" PRIu32 " ticks a second in place of %" PRIu32
                      ": stopping threads makes %" PRIu32 " at most",
                      report->hz < most ? report->hz : most, report->hz_wanted,
                      most);
    } else if (report->hz + report->hz / 3 < most) {
        buffer_format(out, ", %" PRIu32 " ticks a second in place of %" PRIu32,
                      report->hz, most);
    }
    /* A quarter fewer than possible is not worth a reason. */
    if (report->hz + report->hz / 3 >= most)
        return;
    buffer_text(out, report->hz_wanted > most ? ", and " : ": ");
    if (report->slow_scans)
        buffer_format(out,
                      "to look at %" PRIu32
                      " threads more often would take more than 5 %% of a core",
                      report->threads);
    else
        buffer_text(out, "the machine is busy");
}

void
time_remarks_short(const struct sampler_report *report, struct buffer *out)
{
    uint32_t born = report->threads - report->threads_first;
    double tick_ms = 1000.0 / report->hz;

    if (report->threads < report->threads_first || born < BORN_SHOWN ||
        (uint64_t)born * BORN_SHARE < report->samples)
        return;
    buffer_format(out, "; %" PRIu32 " threads were created meanwhile, and ",
                  born);
    if (report->way == SAMPLER_PERF)
        buffer_format(
            out,
            "each is sampled after %.0f ms, %.0f ms, ... of its own time: "
            "shares of what short-lived ones do are not representative",
            tick_ms, 2 * tick_ms);
    else
        buffer_text(out, "short-lived ones are first sampled late: shares of "
                         "what they do are rough");
}

void
time_remarks_chance(const struct profile *profile, struct buffer *out)
{
    /* The error of a share p is proportional to sqrt(p (1 - p)), which is
     * largest, a half, for p = 1/2. */
    if (profile->kind == PROFILE_CPU && profile->bytes > 0)
        buffer_format(out,
                      PROFILE_CHANCE "shares are off by up to %.1f points, in "
                                     "95%% of cases",
                      50 * profile_margin(profile) / profile->bytes);
}

/* ---- unwind tables ---- */

static bool
has_stack_in(const struct profile *profile, const char *path)
{
    for (size_t i = 0; i < profile->location_count; i++) {
        const struct profile_module *module =
            profile_module_find(profile, profile->locations[i].address);

        if (module && strcmp(module->path, path) == 0)
            return true;
    }
    return false;
}

void
time_remarks_tables(const struct profile *profile,
                    const struct unwind_loaded *loaded, struct buffer *out)
{
    const struct unwind_missing *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < loaded->missing && i < UNWIND_MISSING_MAX; i++) {
        const struct unwind_missing *m = &loaded->without[i];

        if (!has_stack_in(profile, m->path))
            continue;
        first = first ? first : m;
        count++;
    }
    if (count == 1)
        buffer_format(out, "; %s has no unwind table (%s)",
                      base_name(first->path), first->why);
    else if (count > 1)
        buffer_format(out, "; %zu files have no unwind table (%s: %s)", count,
                      base_name(first->path), first->why);
}

/* ---- a process that does not run ---- */

/* Whether the tracer is another observation's, a thread of this process. */
static bool
is_own_thread(long tid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%ld", tid);
    return access(path, F_OK) == 0;
}

void
time_remarks_read_stop(int32_t pid, char out[TIME_STOPPED_TEXT])
{
    char status[PROCESS_STATUS_MAX], path[64], name[NAME_BYTES];
    long tracer;
    char state;

    out[0] = '\0';
    process_status_read(pid, 0, status);
    state = *process_status_text(status, "State");
    tracer = process_status_number(status, "TracerPid");
    if (tracer > 0 && !is_own_thread(tracer)) {
        snprintf(path, sizeof(path), "/proc/%ld/comm", tracer);
        sample_read_text(path, name, sizeof(name));
        name[strcspn(name, "\n")] = '\0';
        snprintf(out, TIME_STOPPED_TEXT, "%s by %s (process %ld)",
                 state == 't' ? "held" : "traced",
                 *name ? name : "another program", tracer);
    } else if (state == 'T') {
        snprintf(out, TIME_STOPPED_TEXT, "stopped by a signal (SIGSTOP)");
    }
}

void
time_remarks_write_stop(const char *begin, const char *end, struct buffer *out)
{
    if (*end)
        buffer_format(out, "; the process is %s", end);
    else if (*begin)
        buffer_format(out, "; the process was %s when the profile began",
                      begin);
}
