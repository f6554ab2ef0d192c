/* stats_take.c - see stats_take.h. */
#include "stats_take.h"

#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "dump.h"
#include "errors.h"
#include "node.h"
#include "process_memory.h"
#include "stats.h"

/* An agent of before this request existed calls it a statistic that it does
 * not know. */
static int
ask(struct node *node, struct buffer *text, struct error *err)
{
    struct agent_request request = {.op = AGENT_STATS};
    struct node_answer answer;
    int rc;

    if (node_call(node, &request, &answer, err) != 0) {
        if (node->status.state == NODE_CONNECTED &&
            answer.reply.status == AGENT_NOT_FOUND)
            error_set(err, ER_UNKNOWN,
                      "the agent in %s (pid %d) is older than heapwired and "
                      "has no statistics; restart the database to load the "
                      "new one",
                      node->status.hello.exe, node->status.hello.pid);
        return -1;
    }
    rc = node_read_memory(answer.fds[0], text, "its statistics", err);
    node_answer_close(&answer);
    return rc;
}

/* The kernel's figures, of a process that is there but does not answer: NULL
 * where there are none, or no memory. */
static struct stats *
without_agent(const struct node *node, const struct error *failure)
{
    struct stats *stats;
    struct error unsaid;

    if (node->status.state != NODE_UNRESPONSIVE || node->peer == 0)
        return NULL;
    stats = stats_parse("", 0, &unsaid);
    if (!stats)
        return NULL;
    stats->failure =
        arena_strndup(stats->arena, failure->text, strlen(failure->text));
    stats->taken_ms = clock_wall_ms();
    process_memory_read(node->peer, stats);
    if (stats->failure && stats->rss.known)
        return stats;
    stats_unref(stats);
    return NULL;
}

/* An agent that does not tell it is older than heapwired: that refreshes them
 * once a second, too. */
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

/* The kernel's, beside the allocator's of the agent. */
static void
add_kernel(struct stats *stats, const struct node *node)
{
    struct stats_figure rss = stats->rss, rss_file = stats->rss_file;

    stats->taken_ms = clock_wall_ms();
    if (stats->named_count > 0)
        stats->allocator_ms = stats->taken_ms - age_of(stats);
    if (node->peer != 0)
        process_memory_read(node->peer, stats);
    if (!rss.known)
        return;
    stats->rss = rss;
    stats->rss_file = rss_file;
    stats->taken_ms = stats->allocator_ms;
}

struct stats *
stats_take(struct node *node, struct error *err)
{
    struct stats *stats = NULL;
    struct buffer text;

    buffer_init(&text, STATS_TEXT_MAX);
    if (node->status.hello.allocator != AGENT_NO_JEMALLOC &&
        ask(node, &text, err) != 0) {
        stats = without_agent(node, err);
        goto out;
    }
    stats = stats_parse(text.data ? text.data : "", text.size, err);
    if (stats)
        add_kernel(stats, node);
out:
    buffer_fini(&text);
    return stats;
}
