/* sampler.c - see sampler.h: which way is taken. */
#include "sampler.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "sample_refused.h"
#include "sample_run.h"

static uint32_t
hz_of(const struct sampler_options *options)
{
    if (options->hz > 0)
        return options->hz;
    return options->wall ? SAMPLER_WALL_HZ : SAMPLER_HZ;
}

/* perf_event_open is tried first, as it stops nothing; it cannot see threads
 * that wait, and ptrace cannot see the kernel's frames. */
static int
run_by(struct sample_run *run, struct error *err)
{
    const struct sampler_options *options = run->options;
    struct sampler_report *report = run->report;
    char perf[SAMPLE_REFUSED_MAX] = "", ptrace[SAMPLE_REFUSED_MAX] = "";
    int rc = 1;

    if (options->way != SAMPLER_PTRACE && !options->wall) {
        report->way = SAMPLER_PERF;
        rc = sample_by_perf(run, perf, err);
        if (rc == 1)
            sample_run_reset(run);
    }
    if (rc == 1 && options->way != SAMPLER_PERF && !options->kernel) {
        report->way = SAMPLER_PTRACE;
        snprintf(report->why_not_better, sizeof(report->why_not_better), "%s",
                 perf);
        rc = sample_by_ptrace(run, ptrace, err);
    }
    if (rc != 1)
        return rc;
    if (strstr(ptrace, perf)) /* one reason for both */
        perf[0] = '\0';
    error_set(err, ER_NOT_SUPPORTED, "process %d cannot be sampled%s: %s%s%s",
              options->pid,
              options->kernel ? " with the kernel's functions" : "", perf,
              perf[0] && ptrace[0] ? "; " : "", ptrace);
    return -1;
}

int
sampler_run(const struct sampler_options *options,
            int (*take)(void *arg, const struct sample *sample,
                        struct error *err),
            void *arg, struct sampler_report *report, struct error *err)
{
    struct sample_run run = {.options = options,
                             .take = take,
                             .arg = arg,
                             .report = report,
                             .hz = hz_of(options)};
    int rc;

    *report = (struct sampler_report){.hz_wanted = run.hz};
    if (options->wall && (options->way == SAMPLER_PERF || options->kernel)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "perf_event_open does not sample threads that wait");
        return -1;
    }
    rc = sample_run_init(&run, err);
    if (rc == 0) {
        rc = run_by(&run, err);
        sample_run_fini(&run);
    }
    return rc;
}
