/*
 * controller.c - see controller.h.
 *
 * Two threads.  The channel thread, here, talks to the agent (agent_client.c)
 * and runs the jobs (jobs.c); resolver.c turns a taken dump into a snapshot.
 *
 * Locks: jobs.lock guards the jobs and tickets, status and the resolver's dump.
 * It is held while wakers run (they only post), never across I/O.
 * Order: an await's look, jobs.lock, then whatever a waker takes;
 * objects.lock, the store's and the indexes' last.
 */
#include "controller.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "dump.h"
#include "errors.h"
#include "files.h"
#include "index_keeper.h"
#include "jobs.h"
#include "memory.h"
#include "agent_client.h"
#include "process_children.h"
#include "profiler_control.h"
#include "resolver.h"
#include "node_status.h"
#include "objects.h"
#include "overhead_limit.h"
#include "profile.h"
#include "snapshot.h"
#include "stats.h"
#include "stats_take.h"
#include "store.h"
#include "symbolizer.h"
#include "thread.h"

enum {
    CONNECT_MS = 100, /* between attempts to reach an agent */
    GREET_MS = 2000,  /* between greetings of an idle one */
    ENDED_MS = 20,    /* that the agent has to end profiling by itself */
    /* To name a dump's addresses: a statement has 60 s, and time must be left
     * for an answer without names. */
    NAMING_MS = 40000,
    STACK_BYTES = 1 << 20
};

struct controller {
    struct jobs jobs;
    struct node_status status;      /* a copy of client.status */
    char absence[NODE_ABSENCE_MAX]; /* copied into status */
    int32_t absent;                 /* likewise */
    bool stop;                      /* atomic: read without the lock too */

    struct agent_client client; /* the channel thread's, and: */
    struct overhead_limit overhead_limit;
    struct resolver resolver;
    struct objects objects;
    struct symbolizer *symbolizer; /* the resolver's, but for cancel */
    struct store *store;
    struct index_keeper *indexes; /* or NULL */
    char *state_dir, *symbolizer_path;
    int wake_fd; /* eventfd: the channel thread has work */
    pthread_t channel;
    bool channel_runs;
};

/* ---- the channel thread ---- */

/* With the lock. */
static void
copy_status(struct controller *c)
{
    c->status = c->client.status;
    memcpy(c->status.absence, c->absence, sizeof(c->absence));
    if (c->status.state == NODE_CONNECTED)
        c->absent = 0;
    c->status.absent = c->absent;
}

static void
publish_status(struct controller *c)
{
    pthread_mutex_lock(&c->jobs.lock);
    copy_status(c);
    pthread_mutex_unlock(&c->jobs.lock);
}

/* Logs what the agent did while heapwired was away. */
static void
say_unguarded(const struct controller *c)
{
    char line[256], at[CLOCK_TEXT];

    clock_text(c->client.status.unguarded_ms, at, sizeof(at));
    snprintf(line, sizeof(line),
             "profiling was switched off in the database (pid %d) at %s UTC: "
             "heapwired was away for longer than guard_timeout",
             c->client.status.hello.pid, at);
    if (c->overhead_limit.log)
        c->overhead_limit.log(line);
}

/* An agent that was loaded before an upgrade. */
static void
say_older(const struct controller *c)
{
    const struct agent_hello *hello = &c->client.status.hello;
    char line[AGENT_PATH_MAX + 256];

    snprintf(line, sizeof(line), "the agent in %s (pid %d) %s", hello->exe,
             hello->pid, NODE_OLDER);
    if (c->overhead_limit.log)
        c->overhead_limit.log(line);
}

static void
greet(struct controller *c)
{
    int64_t unguarded_ms = c->client.status.unguarded_ms;
    char note[AGENT_TEXT_MAX];
    bool changed;

    memcpy(note, c->client.status.note, sizeof(note));
    changed = agent_client_refresh(&c->client);
    process_children_look(&c->client);
    if (c->client.status.state == NODE_ABSENT && *c->client.status.note &&
        strcmp(note, c->client.status.note) != 0 && c->overhead_limit.log)
        c->overhead_limit.log(c->client.status.note);
    if (changed && !(c->client.status.knows & AGENT_KNOWS_ALLOCATORS))
        say_older(c);

    if (c->client.status.unguarded_ms != 0 &&
        c->client.status.unguarded_ms != unguarded_ms)
        say_unguarded(c);
    if (changed) {
        objects_clear(&c->objects);
        overhead_limit_forget(&c->overhead_limit, &c->client);
    }
    pthread_mutex_lock(&c->jobs.lock);
    if (changed)
        jobs_forget(&c->jobs);
    if (changed || c->status.hello.resets != c->client.status.hello.resets)
        c->resolver.profiled = false;
    copy_status(c);
    jobs_expire(&c->jobs);
    pthread_mutex_unlock(&c->jobs.lock);
}

/* What profiling costs; and its end, when that is too much. */
static void
oversee(struct controller *c)
{
    double frames;
    bool ended;

    pthread_mutex_lock(&c->jobs.lock);
    frames = c->resolver.profiled ? c->resolver.frames : 0;
    pthread_mutex_unlock(&c->jobs.lock);
    ended = overhead_limit_look(&c->overhead_limit, &c->client, frames);
    pthread_mutex_lock(&c->jobs.lock);
    copy_status(c);
    if (ended)
        jobs_forget(&c->jobs);
    pthread_mutex_unlock(&c->jobs.lock);
}

/* Hands the dump to the resolver, which finishes the job; meanwhile reads what
 * belongs to it. */
static int
run_dump(struct controller *c, struct job *job, struct error *err)
{
    struct snapshot_memory memory;
    struct dump dump;

    memset(&dump, 0, sizeof(dump));
    if (dump_take(&dump, &c->client, &c->objects, err) != 0) {
        dump_fini(&dump);
        return -1;
    }
    resolver_give_dump(&c->resolver, job, &dump);
    dump_take_memory(&c->client, &memory);
    resolver_give_memory(&c->resolver, &memory, c->client.status.elsewhere);
    return 0;
}

/* A library that was loaded since the last greeting may bring a jemalloc: the
 * agent looks for such behind its answer. */
static int
look_again(struct controller *c, struct error *err)
{
    if (c->client.status.state != NODE_CONNECTED)
        return 0;
    greet(c);
    greet(c);
    return node_status_check_job(&c->client.status, JOB_ENABLE, err);
}

static void
run_job(struct controller *c, struct job *job)
{
    struct job_result result = {0};
    struct error err;
    int rc;

    memset(&err, 0, sizeof(err));
    if (job_is_dump(job->request.kind)) {
        rc = run_dump(c, job, &err);
        if (rc == 0)
            return;
    } else if (job->request.kind == JOB_GET_ACTIVE) {
        rc = profiler_control_get_active(&c->client, &result.active, &err);
        if (rc == 0 && result.active != (c->client.status.hello.active != 0))
            greet(c); /* the program itself switched it, or its time was over */
    } else if (job->request.kind == JOB_STATS) {
        result.stats = stats_take(&c->client, &err);
        rc = result.stats ? 0 : -1;
    } else if (job->request.kind == JOB_RESET) {
        rc = profiler_control_reset(&c->client, c->store, &job->request, &err);
        greet(c); /* the rate, number of resets */
    } else {
        rc = job->request.kind == JOB_ENABLE ? look_again(c, &err) : 0;
        if (rc == 0)
            rc = profiler_control_switch(&c->client,
                                         job->request.kind == JOB_ENABLE,
                                         job->request.seconds, &err);
        if (rc == 0 && job->request.kind == JOB_ENABLE)
            stats_take_elsewhere(&c->client);
        greet(c); /* active since, number of changes */
        oversee(c);
    }
    publish_status(c);
    pthread_mutex_lock(&c->jobs.lock);
    job->result = result;
    jobs_finish(&c->jobs, job, rc == 0 ? NULL : &err);
    pthread_mutex_unlock(&c->jobs.lock);
}

static struct job *
next_job(struct controller *c)
{
    struct job *job;

    pthread_mutex_lock(&c->jobs.lock);
    job = jobs_take(&c->jobs);
    pthread_mutex_unlock(&c->jobs.lock);
    return job;
}

/* Milliseconds until the node is to be greeted again; at most 0: now.  When
 * profiling ends by itself, right after that. */
static int64_t
next_greeting(const struct controller *c, uint64_t greeted)
{
    const struct agent_hello *hello = &c->client.status.hello;
    int64_t left = (int64_t)(greeted + GREET_MS - clock_ms()), ends;

    if (hello->active && hello->active_until_ms > 0) {
        ends = hello->active_until_ms + ENDED_MS - clock_wall_ms();
        left = ends < left ? ends : left;
    }
    return left;
}

/* Sleeps until there is a job, an answer or end of the agent, or time is up. */
static void
channel_sleep(struct controller *c, uint64_t greeted)
{
    bool connected =
        c->client.fd >= 0 && c->client.status.state == NODE_CONNECTED;
    int64_t left = connected ? next_greeting(c, greeted) : CONNECT_MS;
    struct pollfd polls[2] = {{c->wake_fd, POLLIN, 0},
                              {c->client.fd, POLLIN, 0}};
    uint64_t drained;

    poll(polls, 2, left > ENDED_MS ? (int)left : ENDED_MS);
    if (polls[0].revents && read(c->wake_fd, &drained, sizeof(drained)) < 0)
        drained = 0; /* another wake-up took it: fine */
}

static void *
channel_main(void *arg)
{
    struct controller *c = arg;
    uint64_t greeted = 0;
    struct job *job;

    while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
        if (c->client.status.state != NODE_CONNECTED ||
            next_greeting(c, greeted) <= 0) {
            greet(c);
            oversee(c);
            greeted = clock_ms();
        }
        while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE) &&
               (job = next_job(c)) != NULL)
            run_job(c, job);
        channel_sleep(c, greeted);
        if (agent_client_input_pending(&c->client))
            greeted = 0; /* the end of the connection, or a late one */
    }
    return NULL;
}

/* ---- start and stop ---- */

/* Without its directory the store keeps snapshots in memory, and
 * heapwire.snapshots says so for each. */
static struct store *
open_store(const struct controller_options *options, struct error *err)
{
    struct store_options in_memory = options->store;
    struct store *store = store_open(&options->store, options->log, err);
    char line[ERROR_TEXT_MAX + 128];

    if (store || !options->store.dir)
        return store;
    snprintf(line, sizeof(line),
             "snapshots are kept in memory alone, until heapwired ends: %s",
             err->text);
    if (options->log)
        options->log(line);
    in_memory.dir = NULL;
    return store_open(&in_memory, options->log, err);
}

/* Without indexes names take longer, but are the same. */
static struct index_keeper *
start_indexes(const struct controller_options *options)
{
    struct index_keeper_options indexes = index_keeper_defaults;
    char line[ERROR_TEXT_MAX + 128];
    struct index_keeper *keeper;
    struct error err;

    if (!options->index_dir)
        return NULL;
    indexes.dir = options->index_dir;
    indexes.program = options->symbolizer;
    indexes.rules.bytes = options->index_bytes;
    indexes.reader_mb = options->reader_mb;
    indexes.log = options->log;
    keeper = index_keeper_start(&indexes, &err);
    if (!keeper && options->log) {
        snprintf(line, sizeof(line), "no symbol indexes are made: %s",
                 err.text);
        options->log(line);
    }
    return keeper;
}

static int
start_symbolizer(struct controller *c, uint32_t reader_mb, struct error *err)
{
    struct symbolizer_indexes indexes = {index_keeper_open, index_keeper_asked,
                                         c->indexes};
    struct symbolizer_options options = {.program = c->symbolizer_path,
                                         .deadline_ms = NAMING_MS,
                                         .reader_mb = reader_mb,
                                         .indexes =
                                             c->indexes ? &indexes : NULL};

    c->symbolizer = symbolizer_new(&options, err);
    return c->symbolizer ? 0 : -1;
}

struct controller *
controller_start(const struct controller_options *options, struct error *err)
{
    struct controller *c = mem_zalloc(1, sizeof(*c));
    struct thread_start channel = {"hw-channel", STACK_BYTES, channel_main, c};

    if (!c) {
        error_memory(err, "the controller");
        return NULL;
    }
    jobs_init(&c->jobs);
    resolver_init(&c->resolver, &c->jobs, &c->status);
    objects_init(&c->objects);
    c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->state_dir = mem_strdup(options->state_dir);
    c->symbolizer_path = mem_strdup(options->symbolizer);
    agent_client_init(&c->client, c->state_dir, c->wake_fd, &c->stop);
    c->client.guard_s = options->guard_s;
    c->client.status.unprepared = options->unprepared;
    c->client.status.attached = options->attached;
    overhead_limit_init(&c->overhead_limit, options->budget_percent,
                        options->log);
    overhead_limit_forget(&c->overhead_limit, &c->client);
    copy_status(c);
    if (c->wake_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        goto fail;
    }
    if (!c->state_dir || !c->symbolizer_path) {
        error_memory(err, "the controller");
        goto fail;
    }
    c->resolver.node_id = options->node_id;
    c->store = open_store(options, err);
    if (!c->store)
        goto fail;
    c->indexes = start_indexes(options);
    if (start_symbolizer(c, options->reader_mb, err) != 0)
        goto fail;
    c->channel_runs = thread_start(&c->channel, &channel, err) == 0;
    if (!c->channel_runs)
        goto fail;
    c->resolver.objects = &c->objects;
    c->resolver.symbolizer = c->symbolizer;
    c->resolver.store = c->store;
    c->resolver.wake_fd = c->wake_fd;
    if (resolver_start(&c->resolver, err) != 0)
        goto fail;
    return c;
fail:
    controller_stop(c);
    return NULL;
}

static void
join_threads(struct controller *c)
{
    __atomic_store_n(&c->stop, true, __ATOMIC_RELEASE);
    resolver_stop(&c->resolver);
    (void)eventfd_write(c->wake_fd, 1);
    if (c->symbolizer)
        symbolizer_cancel(c->symbolizer);
    if (c->channel_runs)
        pthread_join(c->channel, NULL);
    resolver_join(&c->resolver);
}

void
controller_stop(struct controller *c)
{
    if (!c)
        return;
    join_threads(c);
    store_close(c->store);
    symbolizer_free(c->symbolizer);
    index_keeper_stop(c->indexes);
    objects_fini(&c->objects);
    agent_client_fini(&c->client);
    fd_close(c->wake_fd);
    resolver_fini(&c->resolver);
    jobs_fini(&c->jobs);
    mem_free(c->state_dir);
    mem_free(c->symbolizer_path);
    mem_free(c);
}

/* ---- requests ---- */

void
controller_status(struct controller *c, struct node_status *out)
{
    pthread_mutex_lock(&c->jobs.lock);
    *out = c->status;
    out->profiled = c->resolver.profiled;
    out->samples = c->resolver.samples;
    out->profiled_ms = c->resolver.profiled_ms;
    out->failed_snapshots = c->jobs.failed_snapshots;
    pthread_mutex_unlock(&c->jobs.lock);
}

void
controller_set_absence(struct controller *c, int32_t pid, const char *why)
{
    pthread_mutex_lock(&c->jobs.lock);
    c->absent = c->status.absent = pid;
    snprintf(c->absence, sizeof(c->absence), "%s", why);
    memcpy(c->status.absence, c->absence, sizeof(c->absence));
    pthread_mutex_unlock(&c->jobs.lock);
}

/* The kernel still has figures for an unresponsive process. */
static bool
can_serve(const struct node_status *status, enum job_kind kind,
          struct error *err)
{
    if (kind == JOB_STATS && status->state == NODE_UNRESPONSIVE)
        return true;
    if (kind == JOB_ENABLE && status->state == NODE_CONNECTED &&
        status->hello.allocator == AGENT_NO_JEMALLOC)
        return true; /* or no more: look_again() sees */
    return node_status_check(status, err) == 0 &&
           node_status_check_job(status, kind, err) == 0;
}

struct ticket *
controller_submit(struct controller *c, const struct job_request *request,
                  struct waker waker, struct error *err)
{
    struct ticket *ticket = NULL;

    if (request->name && store_check_name(c->store, request->name, err) != 0)
        return NULL; /* reported before the work, not after it */
    pthread_mutex_lock(&c->jobs.lock);
    if (node_status_check_request(request, err) == 0 &&
        can_serve(&c->status, request->kind, err))
        ticket = jobs_attach(&c->jobs, request, waker, err);
    pthread_mutex_unlock(&c->jobs.lock);
    if (ticket)
        (void)eventfd_write(c->wake_fd, 1);
    return ticket;
}

struct store *
controller_store(struct controller *c)
{
    return c->store;
}

struct index_keeper *
controller_indexes(struct controller *c)
{
    return c->indexes;
}
