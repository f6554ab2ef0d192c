/*
 * overhead_limit.c - the guard that ends profiling which costs too much.
 *
 * Sampling costs are the database's, and a load with many allocations can make
 * them large long after somebody switched profiling on and left.  They cannot
 * be measured from outside, since samples are taken by the database's own
 * threads; so the rate of samples is multiplied by a measured cost each.  One
 * reading is noise: three in a row above the budget end it.  The readings
 * themselves cost the agent time: at most a READING_SHARE-th of it.  Runs on
 * the greeter's thread, or a job's, with the agent.
 */
#include "overhead_limit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_client.h"
#include "clock.h"
#include "errors.h"
#include "process_memory.h"
#include "risks.h"
#include "stats.h"
#include "stats_take.h"

/*
 * tests/bench/sample_cost.c on an EPYC with jemalloc 5.3.0 (libgcc's unwinder):
 * 3.9 us at 4 frames, 7.4 at 16, 13.0 at 32, 23.5 at 64, 26 to 42 at 120, the
 * other core busy.  A line through them.
 */
#define SAMPLE_BASE_US  2.5
#define SAMPLE_FRAME_US 0.33
/* by unwind tables 0.018 was measured: plugin/recorder/README.md */
#define SAMPLE_TABLE_FRAME_US 0.02

enum {
    FRAMES_GUESSED = 32,
    SPAN_MIN_MS = 500, /* a shorter one is too imprecise */
    IDLE_MIN_MS = 2000,
    IDLE_MAX_MS = 10000, /* then the interval begins anew */
    METADATA_MIN = 64 << 20,
    METADATA_SHARE = 20 /* or a twentieth of the allocated bytes */
};

/* The cost of a sample; by_library: the share of stacks that the library's
 * unwinder walks. */
static double
sample_us(double frames, double by_library)
{
    double frame_us = SAMPLE_TABLE_FRAME_US +
                      (SAMPLE_FRAME_US - SAMPLE_TABLE_FRAME_US) * by_library;

    return SAMPLE_BASE_US + frame_us * (frames > 0 ? frames : FRAMES_GUESSED);
}

double
overhead_estimate_sample_us(double frames)
{
    return sample_us(frames, 1);
}

double
overhead_estimate_budget_cpus(const struct overhead_settings *settings)
{
    unsigned begun = (settings->cpus + OVERHEAD_CPUS - 1) / OVERHEAD_CPUS;

    return settings->budget_percent / 100.0 * (begun ? begun : 1);
}

void
overhead_estimate_samples_text(const struct overhead_report *report, char *text,
                               size_t size)
{
    if (report->counted)
        snprintf(text, size, "%.0f samples a second, counted, %.1f us each",
                 report->samples_per_second, report->sample_us);
    else
        snprintf(text, size,
                 "%.0f samples a second of %.1f MB a second or more, %.1f us "
                 "each",
                 report->samples_per_second,
                 report->bytes_per_second / 1048576.0, report->sample_us);
}

/* The growth of a counter, per second; false: it is not known, or the counter
 * is another process's. */
static bool
compute_growth_rate(struct stats_figure from, struct stats_figure to,
                    int64_t span_ms, double *out)
{
    if (!from.known || !to.known || to.value < from.value ||
        span_ms < SPAN_MIN_MS)
        return false;
    *out = (double)(to.value - from.value) * 1000.0 / (double)span_ms;
    return true;
}

static void
read_idle(struct overhead_estimate *overhead,
          const struct overhead_reading *now)
{
    struct overhead_report *report = &overhead->report;
    int64_t span_ms = now->at_ms - overhead->idle.at_ms;
    double used;

    overhead->on = false;
    overhead->above = 0;
    report->estimated = report->measured_since = false;
    report->metadata_growth = 0;
    if (overhead->idle.at_ms != 0 && span_ms >= IDLE_MIN_MS &&
        compute_growth_rate(overhead->idle.cpu_ms, now->cpu_ms, span_ms,
                            &used)) {
        report->measured_before = true;
        report->cpus_before = used / 1000.0;
    }
    if (overhead->idle.at_ms == 0 || span_ms >= IDLE_MAX_MS)
        overhead->idle = *now;
}

static void
estimate_overhead_report(struct overhead_estimate *overhead,
                         const struct overhead_reading *now)
{
    struct overhead_report *report = &overhead->report;
    double used, by_library = 0;
    bool tells;
    double sample_bytes = (double)(1ULL << (now->lg_sample & 63));
    int64_t span_ms = now->at_ms - overhead->last.at_ms;

    report->estimated =
        compute_growth_rate(overhead->last.allocated_ever, now->allocated_ever,
                            span_ms, &report->bytes_per_second);
    report->samples_per_second = report->bytes_per_second / sample_bytes;
    report->counted =
        compute_growth_rate(overhead->last.sampled_ever, now->sampled_ever,
                            span_ms, &report->samples_per_second);
    report->estimated = report->estimated || report->counted;
    tells = compute_growth_rate(overhead->last.by_library, now->by_library,
                                span_ms, &by_library);
    /* those of the library are counted, also where the total is a lower
     * bound */
    if (!report->counted && by_library > report->samples_per_second)
        report->samples_per_second = by_library;
    if (!tells || by_library >= report->samples_per_second)
        report->sample_us = sample_us(now->frames, 1);
    else
        report->sample_us =
            sample_us(now->frames, by_library / report->samples_per_second);
    report->cpus = report->samples_per_second * report->sample_us / 1e6;
    report->measured_since =
        compute_growth_rate(overhead->first.cpu_ms, now->cpu_ms,
                            now->at_ms - overhead->first.at_ms, &used);
    if (report->measured_since)
        report->cpus_since = used / 1000.0;
    report->metadata_growth = 0;
    if (overhead->first.metadata.known && now->metadata.known &&
        now->metadata.value > overhead->first.metadata.value)
        report->metadata_growth =
            now->metadata.value - overhead->first.metadata.value;
}

/* Whether this reading is above a limit; reason then says which. */
static bool
is_above_overhead_limit(const struct overhead_report *report,
                        const struct overhead_reading *now,
                        char reason[OVERHEAD_REASON_MAX])
{
    uint64_t metadata_max = METADATA_MIN;
    char samples[OVERHEAD_SAMPLES_MAX];

    overhead_estimate_samples_text(report, samples, sizeof(samples));
    if (now->allocated.known &&
        now->allocated.value / METADATA_SHARE > metadata_max)
        metadata_max = now->allocated.value / METADATA_SHARE;
    if (report->estimated && report->cpus > report->budget_cpus) {
        snprintf(reason, OVERHEAD_REASON_MAX,
                 "its estimated overhead, %.2f %% of a CPU (%s), was above the "
                 "budget of %.2f %% in %d readings",
                 report->cpus * 100, samples, report->budget_cpus * 100,
                 OVERHEAD_READINGS);
        return true;
    }
    if (report->metadata_growth > metadata_max) {
        snprintf(reason, OVERHEAD_REASON_MAX,
                 "the allocator's metadata has grown by %.1f MB since it is "
                 "on, more than the %.1f MB that are allowed",
                 (double)report->metadata_growth / 1048576.0,
                 (double)metadata_max / 1048576.0);
        return true;
    }
    return false;
}

bool
overhead_estimate_read(struct overhead_estimate *overhead,
                       const struct overhead_settings *settings,
                       const struct overhead_reading *now)
{
    struct overhead_report *report = &overhead->report;
    char reason[OVERHEAD_REASON_MAX];

    report->budget_cpus = overhead_estimate_budget_cpus(settings);
    if (!now->active) {
        read_idle(overhead, now);
        return false;
    }
    /* the first reading after switching on has no interval to be compared
     * with */
    if (!overhead->on) {
        overhead->on = true;
        overhead->first = overhead->last = *now;
        overhead->idle.at_ms = 0; /* a new interval begins once it is off */
        return false;
    }
    if (now->at_ms - overhead->last.at_ms < SPAN_MIN_MS)
        return false;
    estimate_overhead_report(overhead, now);
    overhead->last = *now;
    if (report->budget_cpus <= 0 ||
        !is_above_overhead_limit(report, now, reason)) {
        overhead->above = 0;
        return false;
    }
    if (++overhead->above < OVERHEAD_READINGS)
        return false;
    memcpy(report->reason, reason, sizeof(report->reason));
    return true;
}

enum {
    READING_MS = 3000,  /* between two */
    READING_SHARE = 200 /* at least so many times what the last took */
};

void
overhead_limit_init(struct overhead_limit *limit, double percent,
                    void (*log)(const char *line))
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    memset(limit, 0, sizeof(*limit));
    limit->settings.budget_percent = percent;
    limit->settings.cpus = cpus > 0 ? (unsigned)cpus : 1;
    limit->log = log;
}

/* The budget is also shown before there is an estimate. */
static void
publish_overhead_report(const struct overhead_limit *limit,
                        struct agent_client *client)
{
    client->status.overhead = limit->estimate.report;
    client->status.overhead.budget_cpus =
        overhead_estimate_budget_cpus(&limit->settings);
}

void
overhead_limit_reset(struct overhead_limit *limit, struct agent_client *client)
{
    memset(&limit->estimate, 0, sizeof(limit->estimate));
    memset(&client->status.risks, 0, sizeof(client->status.risks));
    limit->next_ms = 0;
    publish_overhead_report(limit, client);
}

static struct stats_figure
named_figure(const struct stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->named_count; i++)
        if (strcmp(stats->named[i].name, name) == 0 &&
            stats->named[i].is_number && stats->named[i].number >= 0)
            return (struct stats_figure){true,
                                         (uint64_t)stats->named[i].number};
    return (struct stats_figure){false, 0};
}

/* Reads the agent's statistics, and sets when they are due next. */
static void
read_statistics(struct overhead_limit *limit, struct agent_client *client,
                struct overhead_reading *reading)
{
    uint64_t began = clock_ms(), took;
    struct stats *stats;
    struct error ignored;

    stats = stats_take(client, &ignored);
    took = clock_ms() - began;
    limit->next_ms =
        clock_ms() +
        (took * READING_SHARE > READING_MS ? took * READING_SHARE : READING_MS);
    if (!stats)
        return;
    if (!stats->failure)
        risks_read_options(stats, &client->status.risks);
    reading->allocated_ever = named_figure(stats, "heapwire.allocated_ever");
    if (!reading->sampled_ever.known)
        reading->sampled_ever = named_figure(stats, "heapwire.sampled_ever");
    if (!reading->by_library.known)
        reading->by_library = named_figure(stats, "heapwire.by_library");
    reading->allocated = stats->allocated;
    reading->metadata = stats->metadata;
    stats_unref(stats);
}

/* -1: the agent does not answer; the guard tries again at the next reading. */
static int
switch_profiling_off(struct overhead_limit *limit, struct agent_client *client)
{
    struct overhead_report *report = &limit->estimate.report;
    struct agent_request request = {.op = AGENT_SET_ACTIVE, .number = 0};
    struct agent_client_answer answer;
    struct error err;
    char line[OVERHEAD_REASON_MAX + 128];

    if (agent_client_call(client, &request, &answer, &err) != 0)
        return -1;
    report->switched_off_ms = clock_wall_ms();
    snprintf(line, sizeof(line),
             "the overhead guard switched profiling off in %s (pid %d): %s",
             client->status.hello.exe, client->status.hello.pid,
             report->reason);
    if (limit->log)
        limit->log(line);
    agent_client_refresh(client);
    return 0;
}

bool
overhead_limit_check(struct overhead_limit *limit, struct agent_client *client,
                     double frames)
{
    struct overhead_reading reading = {
        .at_ms = (int64_t)clock_ms(),
        .active = client->status.hello.active != 0,
        .lg_sample = client->status.hello.lg_sample,
        .frames = frames,
        .sampled_ever = client->status.taken,
        .by_library = client->status.by_library};
    bool ended = false;

    if (client->status.state != NODE_CONNECTED ||
        !client->status.hello.opt_prof)
        return false;
    if (reading.active != limit->estimate.on)
        limit->next_ms = 0; /* begin at once */
    /* while profiling is off, statistics are read once, for jemalloc's
     * options */
    if (reading.active || !client->status.risks.known) {
        if (clock_ms() < limit->next_ms)
            return false;
        read_statistics(limit, client, &reading);
    }
    if (client->peer != 0)
        reading.cpu_ms = process_cpu_ms(client->peer);
    if (overhead_estimate_read(&limit->estimate, &limit->settings, &reading))
        ended = switch_profiling_off(limit, client) == 0;
    publish_overhead_report(limit, client);
    return ended;
}
