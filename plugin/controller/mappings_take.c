/* mappings_take.c - see mappings_take.h. */
#include "mappings_take.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_client.h"
#include "arena.h"
#include "clock.h"
#include "errors.h"
#include "files.h"
#include "memory_map.h"
#include "node_status.h"
#include "process_stat.h"

int
mappings_take_again(struct mappings_take *take, struct error *err)
{
    take->source.smaps = map_source_open(take->source.pid);
    take->refused =
        take->source.smaps < 0 && (errno == EACCES || errno == EPERM);
    if (take->source.smaps >= 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "heapwired (uid %u) may not read /proc/%d/smaps",
              (unsigned)geteuid(), (int)take->source.pid);
    return -1;
}

static int
ask_for_smaps(struct mappings_take *take, struct agent_client *client,
              struct error *err)
{
    struct agent_request request = {.op = AGENT_SMAPS};
    struct agent_client_answer answer;
    int rc = -1;

    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    if (agent_client_read_memory(client, answer.fds[0], &take->smaps,
                                 "its mappings", err) == 0 &&
        agent_client_read_memory(client, answer.fds[1], &take->tasks,
                                 "its threads", err) == 0)
        rc = 0;
    take->source.cut = answer.reply.value != 0;
    agent_client_answer_close(&answer);
    take->source.text = (struct span){take->smaps.data, take->smaps.size};
    take->source.threads = (struct span){take->tasks.data, take->tasks.size};
    return rc;
}

int
mappings_take_ask(struct mappings_take *take, struct agent_client *client,
                  struct error *err)
{
    struct error why = *err, more;

    if (client->status.state == NODE_GONE)
        return -1;
    if (client->status.state == NODE_CONNECTED &&
        !(client->status.knows & AGENT_KNOWS_SMAPS)) {
        error_set(err, ER_UNKNOWN,
                  "%s, and the agent in %s (pid %d) is older than heapwired "
                  "and cannot read them for it; restart the database to load "
                  "the new one",
                  why.text, client->status.hello.exe, client->status.hello.pid);
        return -1;
    }
    if (ask_for_smaps(take, client, &more) != 0) {
        error_set(err, ER_UNKNOWN, "%s, and its agent did not: %s", why.text,
                  more.text);
        return -1;
    }
    snprintf(take->remark, sizeof(take->remark),
             "%s: the agent has read them%s; what has no name is judged by its "
             "place",
             why.text,
             take->source.cut ? ", but only the first 16 MB of the text, so "
                                "that mappings are missing"
                              : "");
    return 0;
}

int
mappings_take_open(struct mappings_take *take, struct agent_client *client,
                   struct error *err)
{
    const struct snapshot_memory *memory = &client->memory;
    struct node_arrival process;

    *take = (struct mappings_take){.source = {.smaps = -1}};
    buffer_init(&take->smaps, AGENT_SMAPS_MAX);
    buffer_init(&take->tasks, MAPPINGS_TASKS_MAX);
    take->source.remark = take->remark;
    take->source.jemalloc = *client->status.hello.mallctl != '\0';
    if (memory->mapped.known && memory->retained.known)
        take->source.jemalloc_most =
            memory->mapped.value + memory->retained.value;
    process = node_status_find_process(&client->status, client->state_dir, err);
    if (process.pid == 0)
        return -1;
    take->source.pid = process.pid;
    take->source.start_ticks = process.start_ticks;
    return mappings_take_again(take, err);
}

struct memory_map *
mappings_take_read(struct mappings_take *take, struct map_seen *seen,
                   struct error *err)
{
    return map_source_read(&take->source, seen, err);
}

struct memory_map *
mappings_take_nothing(const struct error *why)
{
    struct memory_map *map = memory_map_new();

    if (!map)
        return NULL;
    map->taken_ms = clock_wall_ms();
    map->failure = memory_map_text(map, why->text, strlen(why->text));
    return map;
}

void
mappings_take_close(struct mappings_take *take)
{
    fd_close(take->source.smaps);
    buffer_fini(&take->smaps);
    buffer_fini(&take->tasks);
}
