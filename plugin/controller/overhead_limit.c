/* overhead_limit.c - see overhead_limit.h. */
#include "overhead_limit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "agent_client.h"
#include "process_memory.h"
#include "risks.h"
#include "stats.h"
#include "stats_take.h"

enum {
    READING_MS = 3000,  /* between two */
    READING_SHARE = 200 /* or so many times what the last one took */
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

static void
publish(const struct overhead_limit *limit, struct agent_client *client)
{
    client->status.overhead = limit->estimate.report;
    client->status.overhead.budget_cpus =
        overhead_estimate_budget_cpus(&limit->settings);
}

void
overhead_limit_forget(struct overhead_limit *limit, struct agent_client *client)
{
    memset(&limit->estimate, 0, sizeof(limit->estimate));
    memset(&client->status.risks, 0, sizeof(client->status.risks));
    limit->next_ms = 0;
    publish(limit, client);
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

/* Statistics, when they are due. */
static void
read_statistics(struct overhead_limit *limit, struct agent_client *client,
                struct overhead_reading *reading)
{
    uint64_t began = clock_ms(), took;
    struct stats *stats;
    struct error unsaid;

    stats = stats_take(client, &unsaid);
    took = clock_ms() - began;
    limit->next_ms =
        clock_ms() +
        (took * READING_SHARE > READING_MS ? took * READING_SHARE : READING_MS);
    if (!stats)
        return;
    if (!stats->failure)
        risks_read_options(stats, &client->status.risks);
    reading->allocated_ever = named_figure(stats, "heapwire.allocated_ever");
    reading->sampled_ever = named_figure(stats, "heapwire.sampled_ever");
    reading->allocated = stats->allocated;
    reading->metadata = stats->metadata;
    stats_unref(stats);
}

/* -1: it does not answer. */
static int
switch_off(struct overhead_limit *limit, struct agent_client *client)
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
overhead_limit_look(struct overhead_limit *limit, struct agent_client *client,
                    double frames)
{
    struct overhead_reading reading = {
        .at_ms = (int64_t)clock_ms(),
        .active = client->status.hello.active != 0,
        .lg_sample = client->status.hello.lg_sample,
        .frames = frames};
    bool ended = false;

    if (client->status.state != NODE_CONNECTED ||
        !client->status.hello.opt_prof)
        return false;
    if (reading.active != limit->estimate.on)
        limit->next_ms = 0; /* from the beginning */
    if (reading.active || !client->status.risks.known) {
        if (clock_ms() < limit->next_ms)
            return false;
        read_statistics(limit, client, &reading);
    }
    if (client->peer != 0)
        reading.cpu_ms = process_cpu_ms(client->peer);
    if (overhead_estimate_read(&limit->estimate, &limit->settings, &reading))
        ended = switch_off(limit, client) == 0;
    publish(limit, client);
    return ended;
}
