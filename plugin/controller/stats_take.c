/*
 * stats_take.c - statistics of allocator and kernel, put together.
 *
 * A page about memory is only right if its figures are of one moment: the
 * agent's text has the age of jemalloc's figures, and rss is read by the agent
 * right beside them where it can, by us otherwise.  A database that hangs or
 * has died is when statistics are wanted most: then the last known figures are
 * given, with the failure that says so.  An agent may be older than heapwired
 * (it lives as long as the database), so each request is checked against what
 * it knows: an unknown one would make it hang up.  One call waits for two or
 * three exchanges, with the agent held.
 */
#include "stats_take.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_client.h"
#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "controller.h"
#include "dump.h"
#include "errors.h"
#include "memory.h"
#include "node_status.h"
#include "process_memory.h"
#include "processes.h"
#include "reconciliation.h"
#include "segment.h"
#include "stats.h"
#include "stats_allocators.h"
#include "store.h"
#include "snapshot_waste.h"

/* Refuses a reset that would leave kept snapshots which nothing can be compared
 * with any more. */
static int
check_baselines(const struct agent_client *client, struct store *store,
                uint32_t lg_sample, struct error *err)
{
    const struct agent_hello *now = &client->status.hello;
    struct store_entry *kept = mem_zalloc(STORE_COUNT_MAX, sizeof(*kept));
    size_t count;
    int rc = 0;

    if (!kept) {
        error_memory(err, "the list of snapshots");
        return -1;
    }
    count = store_list(store, kept, STORE_COUNT_MAX);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (kept[i].kind == PROFILE_HEAP &&
            agent_client_same_incarnation(&kept[i].hello, now) &&
            kept[i].hello.resets == now->resets) {
            error_set(err, ER_UNKNOWN,
                      "a reset forgets all samples: snapshot %s and others of "
                      "this process could not be compared with later ones any "
                      "more; delete them first, or use reset(%u, true)",
                      kept[i].name, lg_sample);
            rc = -1;
        }
    mem_free(kept);
    return rc;
}

int
profiler_control_run(struct agent_client *client, struct store *store,
                     const struct job_request *wanted,
                     struct job_result *result, struct error *err)
{
    struct agent_request request = {.op = AGENT_SET_ACTIVE,
                                    .number = wanted->kind == JOB_ENABLE,
                                    .seconds = wanted->seconds};
    struct agent_client_answer answer;

    if (wanted->kind == JOB_RESET) {
        request = (struct agent_request){.op = AGENT_RESET,
                                         .number = wanted->lg_sample
                                                       ? wanted->lg_sample
                                                       : AGENT_LG_SAMPLE_SAME,
                                         .force = wanted->force};
        if (!wanted->force &&
            check_baselines(client, store, wanted->lg_sample, err) != 0)
            return -1;
    } else if (wanted->kind == JOB_GET_ACTIVE) {
        request = (struct agent_request){.op = AGENT_GET_ACTIVE};
        /* "off" without a question: with opt.prof off there is no
         * prof.active */
        if (client->status.hello.allocator == AGENT_PROF_OFF)
            return node_status_check(&client->status, err);
    }
    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    result->active = wanted->kind == JOB_GET_ACTIVE && answer.reply.value != 0;
    return 0;
}

enum { CHILDREN_SCAN_MS = 5000, SCAN_TIME_RATIO = 100 };

/* The list has the served process, too, which is not counted. */
static void
describe_unseen_children(const struct processes *processes, bool recorded,
                         char *out, size_t size)
{
    size_t count =
        processes->count + processes->left_out - (processes->count > 0);
    const char *then = recorded
                           ? "the recorder samples only the parent"
                           : "process = child (or a NAME) serves one of them "
                             "instead";
    bool one = count == 1;

    out[0] = '\0';
    if (count > 0)
        snprintf(out, size,
                 "%zu %s of the same executable %s up to %.1f MB and %s not "
                 "seen; %s",
                 count, one ? "child" : "children", one ? "holds" : "hold",
                 (double)processes->bytes / (1 << 20), one ? "is" : "are",
                 then);
}

void
process_children_scan(struct agent_client *client)
{
    struct processes processes = {0};
    uint64_t now = clock_ms(), took;

    /* walking /proc costs time on a machine with many processes: not at each
     * greeting */
    if (client->children_of == client->peer && now < client->children_due_ms)
        return;
    if (client->peer != 0)
        processes_read(client->peer, &processes);
    describe_unseen_children(
        &processes, client->status.hello.opt_prof == AGENT_PROF_RECORDED,
        client->status.children, sizeof(client->status.children));
    took = clock_ms() - now;
    client->children_of = client->peer;
    client->children_due_ms = now + (took * SCAN_TIME_RATIO > CHILDREN_SCAN_MS
                                         ? took * SCAN_TIME_RATIO
                                         : CHILDREN_SCAN_MS);
}

/* An agent from before this request calls it an unknown statistic. */
static int
request_agent_stats(struct agent_client *client, struct buffer *text,
                    struct error *err)
{
    struct agent_request request = {.op = AGENT_STATS};
    struct agent_client_answer answer;
    int rc;

    if (agent_client_call(client, &request, &answer, err) != 0) {
        if (client->status.state == NODE_CONNECTED &&
            answer.reply.status == AGENT_NOT_FOUND)
            error_set(err, ER_UNKNOWN,
                      "the agent in %s (pid %d) is older than heapwired and "
                      "has no statistics; restart the database to load the "
                      "new one",
                      client->status.hello.exe, client->status.hello.pid);
        return -1;
    }
    rc = agent_client_read_memory(client, answer.fds[0], text, "its statistics",
                                  err);
    agent_client_answer_close(&answer);
    return rc;
}

/* Lists the allocators; an older agent is not asked, as it would hang up. */
static int
ask_allocators(struct agent_client *client, struct stats *stats,
               struct error *err)
{
    struct agent_request request = {.op = AGENT_ALLOCATORS};
    struct agent_client_answer answer;
    struct buffer text;
    int rc;

    if (!(client->status.knows & AGENT_KNOWS_ALLOCATORS))
        return 0;
    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    buffer_init(&text, STATS_ALLOCATORS_TEXT_MAX);
    rc = agent_client_read_memory(client, answer.fds[0], &text,
                                  "its allocators", err);
    if (rc == 0)
        rc = stats_allocators_parse(stats, text.data ? text.data : "",
                                    text.size, err);
    agent_client_answer_close(&answer);
    buffer_fini(&text);
    return rc;
}

static void
add_children_to_stats(struct stats *stats, struct agent_client *client)
{
    const char *text = client->status.children;

    process_children_scan(client);
    if (*text)
        stats->children = arena_strndup(stats->arena, text, strlen(text));
}

/* Copies the single figures; arenas and size classes have no time of their
 * own. */
static void
copy_figures(struct stats *to, const struct snapshot_memory *from)
{
    to->taken_ms = from->rss_ms;
    to->allocator_ms = from->allocator_ms;
    to->allocated = from->allocated;
    to->active = from->active;
    to->metadata = from->metadata;
    to->resident = from->resident;
    to->mapped = from->mapped;
    to->retained = from->retained;
    to->rss = from->rss;
    to->rss_file = from->rss_file;
    to->cgroup_current = from->cgroup_current;
    to->cgroup_limit = from->cgroup_limit;
}

/* Statistics of a process that does not answer, or has ended: the last known
 * ones, and the kernel's of now while it is there.  NULL where there is
 * neither, or no memory. */
static struct stats *
without_agent(struct agent_client *client, const struct error *failure)
{
    enum node_state state = client->status.state;
    struct stats *stats;
    struct error ignored;

    if (state != NODE_UNRESPONSIVE && state != NODE_GONE)
        return NULL;
    stats = stats_parse("", 0, &ignored);
    if (!stats)
        return NULL;
    stats->failure =
        arena_strndup(stats->arena, failure->text, strlen(failure->text));
    copy_figures(stats, &client->memory);
    if (state == NODE_UNRESPONSIVE && client->peer != 0) {
        stats->taken_ms = clock_wall_ms();
        process_memory_read(client->peer, stats);
        add_children_to_stats(stats, client);
    }
    if (stats->failure && (stats->rss.known || stats->allocated.known))
        return stats;
    stats_unref(stats);
    return NULL;
}

/* The age of jemalloc's figures.  An older agent does not report it, but
 * refreshes them once a second, too. */
static int64_t
age_of(const struct stats *stats)
{
    enum { AGE_MAX_MS = 1000 };

    for (size_t i = 0; i < stats->named_count; i++)
        if (strcmp(stats->named[i].name, "heapwire.epoch_age_ms") == 0 &&
            stats->named[i].is_number)
            return stats->named[i].number;
    return AGE_MAX_MS;
}

/* Adds the kernel's figures.  Where the agent has read rss beside jemalloc's
 * figures, that one counts, since only these two are of one moment. */
static void
add_kernel(struct stats *stats, struct agent_client *client)
{
    struct stats_figure rss = stats->rss, rss_file = stats->rss_file;

    stats->taken_ms = clock_wall_ms();
    if (stats->named_count > 0)
        stats->allocator_ms = stats->taken_ms - age_of(stats);
    if (client->peer != 0) {
        process_memory_read(client->peer, stats);
        add_children_to_stats(stats, client);
    }
    if (!rss.known)
        return;
    stats->rss = rss;
    stats->rss_file = rss_file;
    stats->taken_ms = stats->allocator_ms;
}

/* Keeps the text on other jemallocs, for the node's state and for profiles. */
static void
keep_elsewhere(const struct stats *stats, struct agent_client *client)
{
    struct buffer text;

    buffer_init(&text, ELSEWHERE_TEXT_MAX);
    elsewhere_write(stats, &text);
    snprintf(client->status.elsewhere, sizeof(client->status.elsewhere), "%.*s",
             (int)text.size, text.data ? text.data : "");
    buffer_fini(&text);
}

/* Whether there is a jemalloc that the agent can ask. */
static bool
has_allocator(const struct agent_client *client)
{
    if (client->status.hello.opt_prof == AGENT_PROF_RECORDED)
        return *client->status.hello.mallctl != '\0';
    return client->status.hello.allocator != AGENT_NO_JEMALLOC &&
           client->status.hello.allocator != AGENT_UNUSABLE;
}

/* Adds the list of allocators, and why none of them can be used. */
static int
add_allocators_to_stats(struct stats *stats, struct agent_client *client,
                        struct error *err)
{
    struct error why;

    if (ask_allocators(client, stats, err) != 0)
        return -1;
    if (client->status.hello.allocator != AGENT_UNUSABLE ||
        node_status_check_job(&client->status, JOB_ENABLE, &why) == 0)
        return 0;
    stats->unusable = arena_strndup(stats->arena, why.text, strlen(why.text));
    if (stats->unusable)
        return 0;
    error_memory(err, "the node's statistics");
    return -1;
}

void
stats_take_kernel(const struct agent_client *client,
                  struct snapshot_memory *memory)
{
    struct stats kernel = {0};

    process_memory_read(client->peer, &kernel);
    if (!kernel.rss.known)
        return; /* it has just ended */
    memory->rss_ms = clock_wall_ms();
    memory->rss = kernel.rss;
    memory->rss_file = kernel.rss_file;
    memory->cgroup_current = kernel.cgroup_current;
    memory->cgroup_limit = kernel.cgroup_limit;
}

void
stats_take_elsewhere(struct agent_client *client)
{
    struct error ignored;
    struct stats *stats = stats_parse("", 0, &ignored);

    if (stats && ask_allocators(client, stats, &ignored) == 0)
        keep_elsewhere(stats, client);
    stats_unref(stats);
}

void
stats_take_samples(int segment, struct node_status *status)
{
    struct segment_header header;

    status->taken = status->by_library = (struct stats_figure){false, 0};
    /* the segment may be another process's by now */
    if (!node_status_is_recorded(status) ||
        pread(segment, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        header.owner != (uint64_t)status->hello.pid)
        return;
    status->taken = (struct stats_figure){true, header.taken_samples};
    if (status->knows & AGENT_KNOWS_TABLES) /* older agents do not count them */
        status->by_library = (struct stats_figure){true, header.by_library};
}

struct stats *
stats_take(struct agent_client *client, struct error *err)
{
    struct stats *stats = NULL;
    struct buffer text;

    if (client->status.state == NODE_GONE &&
        node_status_check(&client->status, err) != 0)
        return without_agent(client, err);
    buffer_init(&text, STATS_TEXT_MAX);
    /* without an allocator to ask, the kernel's figures alone are an answer */
    if (has_allocator(client) && request_agent_stats(client, &text, err) != 0) {
        stats = without_agent(client, err);
        goto out;
    }
    stats = stats_parse(text.data ? text.data : "", text.size, err);
    if (stats && add_allocators_to_stats(stats, client, err) != 0) {
        stats_unref(stats);
        stats = without_agent(client, err);
    } else if (stats) {
        add_kernel(stats, client);
        keep_elsewhere(stats, client);
        reconciliation_take(stats, &client->memory);
        waste_take(stats, &client->waste);
    }
out:
    buffer_fini(&text);
    return stats;
}
