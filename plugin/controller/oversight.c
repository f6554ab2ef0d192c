/* oversight.c - see oversight.h. */
#include "oversight.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "node.h"
#include "process_memory.h"
#include "risks.h"
#include "stats.h"
#include "stats_take.h"

enum {
    READING_MS = 3000,  /* between two */
    READING_SHARE = 200 /* or so many times what the last one took */
};

void
oversight_init(struct oversight *oversight, double percent,
               void (*log)(const char *line))
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    memset(oversight, 0, sizeof(*oversight));
    oversight->settings.budget_percent = percent;
    oversight->settings.cpus = cpus > 0 ? (unsigned)cpus : 1;
    oversight->log = log;
}

static void
publish(const struct oversight *oversight, struct node *node)
{
    node->status.guard = oversight->guard.report;
    node->status.guard.budget_cpus = guard_budget_cpus(&oversight->settings);
}

void
oversight_forget(struct oversight *oversight, struct node *node)
{
    memset(&oversight->guard, 0, sizeof(oversight->guard));
    memset(&node->status.risks, 0, sizeof(node->status.risks));
    oversight->next_ms = 0;
    publish(oversight, node);
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
read_statistics(struct oversight *oversight, struct node *node,
                struct guard_reading *reading)
{
    uint64_t began = clock_ms(), took;
    struct stats *stats;
    struct error unsaid;

    stats = stats_take(node, &unsaid);
    took = clock_ms() - began;
    oversight->next_ms =
        clock_ms() +
        (took * READING_SHARE > READING_MS ? took * READING_SHARE : READING_MS);
    if (!stats)
        return;
    if (!stats->failure)
        risks_read_options(stats, &node->status.risks);
    reading->allocated_ever = named_figure(stats, "heapwire.allocated_ever");
    reading->sampled_ever = named_figure(stats, "heapwire.sampled_ever");
    reading->allocated = stats->allocated;
    reading->metadata = stats->metadata;
    stats_unref(stats);
}

/* -1: it does not answer. */
static int
switch_off(struct oversight *oversight, struct node *node)
{
    struct guard_report *report = &oversight->guard.report;
    struct agent_request request = {.op = AGENT_SET_ACTIVE, .number = 0};
    struct node_answer answer;
    struct error err;
    char line[GUARD_REASON_MAX + 128];

    if (node_call(node, &request, &answer, &err) != 0)
        return -1;
    report->switched_off_ms = clock_wall_ms();
    snprintf(line, sizeof(line),
             "the overhead guard switched profiling off in %s (pid %d): %s",
             node->status.hello.exe, node->status.hello.pid, report->reason);
    if (oversight->log)
        oversight->log(line);
    node_refresh(node);
    return 0;
}

bool
oversight_look(struct oversight *oversight, struct node *node, double frames)
{
    struct guard_reading reading = {.at_ms = (int64_t)clock_ms(),
                                    .active = node->status.hello.active != 0,
                                    .lg_sample = node->status.hello.lg_sample,
                                    .frames = frames};
    bool ended = false;

    if (node->status.state != NODE_CONNECTED || !node->status.hello.opt_prof)
        return false;
    if (reading.active != oversight->guard.on)
        oversight->next_ms = 0; /* from the beginning */
    if (reading.active || !node->status.risks.known) {
        if (clock_ms() < oversight->next_ms)
            return false;
        read_statistics(oversight, node, &reading);
    }
    if (node->peer != 0)
        reading.cpu_ms = process_cpu_ms(node->peer);
    if (guard_read(&oversight->guard, &oversight->settings, &reading))
        ended = switch_off(oversight, node) == 0;
    publish(oversight, node);
    return ended;
}
