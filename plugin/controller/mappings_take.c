/*
 * mappings_take.c - three ways to read /proc/PID/smaps; see mappings_take.h.
 *
 * heapwired may read it as the same user, unless the process is not dumpable
 * (it has changed its user, or has capabilities), or is in another namespace.
 * Then, in this order: the agent makes it dumpable for the time of reading, or
 * the agent reads the file itself.  The last is refused for large processes:
 * smaps walks all pages with the memory map locked, and in the agent's read
 * nobody can stop it.  Only opening needs the agent: an open descriptor stays
 * readable, so the long read goes on without it.
 */
#include "mappings_take.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_client.h"
#include "clock.h"
#include "errors.h"
#include "files.h"
#include "jobs.h"
#include "log.h"
#include "map_seen.h"
#include "memory_map.h"
#include "node_status.h"
#include "observer.h"

enum { OPEN_MS = 30000 /* at most, for a reading */ };

/* Opens smaps.  -1 with *err; *refused: only missing rights prevent it. */
static int
open_smaps(struct mappings_take *take, bool *refused, struct error *err)
{
    if (map_source_open(&take->source) == 0)
        return 0;
    *refused = errno == EACCES || errno == EPERM;
    error_sys(err, ER_UNKNOWN, "heapwired (uid %u) may not read /proc/%d/smaps",
              (unsigned)geteuid(), (int)take->source.pid);
    return -1;
}

/* Makes the process dumpable, if only that keeps us from reading it; true if it
 * is then. */
static bool
make_dumpable_for_mappings(struct observer *observer,
                           struct agent_client *client)
{
    struct error ignored;
    bool opened = false;

    if (!observer->dumpable || client->status.state != NODE_CONNECTED ||
        client->status.hello.uid != geteuid())
        return false;
    observer->access_until_ms[OBSERVER_MAPPINGS] = clock_ms() + OPEN_MS;
    if (observer_set_access(observer, client, &opened, &ignored) == 0 && opened)
        return true;
    observer->access_until_ms[OBSERVER_MAPPINGS] = 0;
    return false;
}

/* Puts dumpable back, unless other observations need it. */
static void
restore_dumpable(struct observer *observer, struct agent_client *client)
{
    struct error err;
    bool opened;

    observer->access_until_ms[OBSERVER_MAPPINGS] = 0;
    if (client->status.state == NODE_CONNECTED &&
        observer_set_access(observer, client, &opened, &err) != 0)
        log_to(observer->log,
               "the database (pid %d) was made dumpable, and may still be; "
               "this is put back at the next greeting: %s",
               (int)client->status.hello.pid, err.text);
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

/* Has the agent read the mappings; the error says why neither way works. */
static int
ask_agent_instead(struct mappings_take *take, struct agent_client *client,
                  struct error *err)
{
    struct error why = *err, more;

    if (client->status.state != NODE_CONNECTED &&
        client->status.state != NODE_UNRESPONSIVE)
        return -1; /* there is none */
    if (client->status.state == NODE_CONNECTED &&
        !(client->status.knows & AGENT_KNOWS_SMAPS)) {
        error_set(err, ER_UNKNOWN,
                  "%s, and the agent in %s (pid %d) is older than heapwired "
                  "and cannot read them for it; restart the database to load "
                  "the new one",
                  why.text, client->status.hello.exe, client->status.hello.pid);
        return -1;
    }
    /* a walk through that many pages inside the database could not be
     * stopped */
    if (take->source.too_large_bytes) {
        error_set(err, ER_UNKNOWN,
                  "%s, and with %d GB or more in memory its agent is not asked "
                  "to, since the database's own mmap would wait for it%s",
                  why.text, MAP_SMAPS_GB,
                  take->source.pid == 0
                      ? ""
                      : "; run heapwired as the database's user, or set "
                        "dumpable to auto");
        return -1;
    }
    if (ask_for_smaps(take, client, &more) != 0) {
        error_set(err, ER_UNKNOWN, "%s, and its agent did not: %s", why.text,
                  more.text);
        return -1;
    }
    _Static_assert(AGENT_SMAPS_MAX == 16 << 20, "the text says 16 MB");
    snprintf(take->remark, sizeof(take->remark),
             "%s: the agent has read them%s; mappings without a name are "
             "attributed by their addresses",
             why.text,
             take->source.cut ? ", but only the first 16 MB of the text, so "
                                "that mappings are missing"
                              : "");
    return 0;
}

int
mappings_take_open(struct mappings_take *take, struct agent_client *client,
                   struct observer *observer, struct error *err)
{
    const struct snapshot_memory *memory = &client->memory;
    struct node_arrival process;
    bool refused = false;

    *take = (struct mappings_take){.source = {.smaps = -1}};
    buffer_init(&take->smaps, AGENT_SMAPS_MAX);
    buffer_init(&take->tasks, MAPPINGS_TASKS_MAX);
    take->source.remark = take->remark;
    take->source.jemalloc = *client->status.hello.mallctl != '\0';
    /* more than this jemalloc cannot have: what is beyond is somebody else's */
    if (memory->mapped.known && memory->retained.known)
        take->source.jemalloc_most =
            memory->mapped.value + memory->retained.value;
    process = node_status_find_process(&client->status, client->state_dir, err);
    take->source.pid = process.pid;
    take->source.start_ticks = process.start_ticks;
    if (process.pid != 0)
        take->source.too_large_bytes = map_source_large_bytes(process.pid);
    else if (memory->rss.known && memory->rss.value >> 30 >= MAP_SMAPS_GB)
        take->source.too_large_bytes = memory->rss.value;
    if (process.pid != 0 && open_smaps(take, &refused, err) == 0)
        return 0;
    take->opened = refused && make_dumpable_for_mappings(observer, client);
    if (take->opened && open_smaps(take, &refused, err) == 0)
        return 0;
    return ask_agent_instead(take, client, err);
}

struct memory_map *
mappings_take_read(struct mappings_take *take, struct map_seen *seen,
                   struct error *err)
{
    struct memory_map *map = map_source_read(&take->source, err);

    if (map)
        map_seen_note(seen, take->source.pid, take->source.start_ticks, map,
                      map->taken_ms);
    return map;
}

struct memory_map *
mappings_make_failed(const struct error *why)
{
    struct memory_map *map = memory_map_new();

    if (!map)
        return NULL;
    map->taken_ms = clock_wall_ms();
    map->failure = memory_map_text(map, why->text, strlen(why->text));
    return map;
}

void
mappings_take_close(struct mappings_take *take, struct agent_client *client,
                    struct observer *observer)
{
    if (take->opened)
        restore_dumpable(observer, client);
    fd_close(take->source.smaps);
    buffer_fini(&take->smaps);
    buffer_fini(&take->tasks);
}

/* ---- what is there, and since when ---- */

/* Copies pid and start first: client may be read only while the job has the
 * agent. */
void
mappings_take_ranges(struct job *job, const struct agent_client *client,
                     struct map_seen *seen)
{
    pthread_mutex_t *lock = &job->flight.flights->lock;
    uint64_t start_ticks = client->status.hello.start_ticks;
    pid_t pid = client->peer;

    pthread_mutex_lock(lock);
    jobs_give_agent(job);
    pthread_mutex_unlock(lock);
    if (pid != 0)
        map_seen_scan(seen, pid, start_ticks);
    pthread_mutex_lock(lock);
    jobs_finish(job, NULL);
    pthread_mutex_unlock(lock);
}

static void
ignore_wakeup(void *arg)
{
    (void)arg;
}

/* Asks at most once at a time: a second answer would be the same. */
void
mappings_ask_ranges(struct jobs *jobs, const struct node_status *status,
                    struct map_seen *seen, struct seat **ranges_seat)
{
    const struct job_request request = {.kind = JOB_RANGES};
    struct waker nobody = {ignore_wakeup, NULL};
    struct error ignored;

    if (*ranges_seat && flight_poll(*ranges_seat, &ignored) == FLIGHT_RUNS)
        return;
    flight_leave(*ranges_seat);
    *ranges_seat = NULL;
    pthread_mutex_lock(&jobs->flights.lock);
    if (status->state == NODE_CONNECTED && status->peer != 0 &&
        map_seen_is_due(seen, status->peer, status->hello.start_ticks))
        *ranges_seat = jobs_join(jobs, &request, nobody, &ignored);
    pthread_mutex_unlock(&jobs->flights.lock);
}
