/*
 * controller.c - see controller.h.
 *
 * The agent serves one request at a time and may hang at any of them, while
 * many users ask: so requests become jobs (jobs.c says when each runs, on
 * threads of their own), which talk to the agent through agent_client.c while
 * they have it.  The greeter, the one thread that stays, takes turns with them:
 * it connects, greets, and ends profiling that costs too much.  A helper that
 * names addresses lives within a job, whose thread is its parent (it dies with
 * it).
 *
 * Locks: that of jobs.flights guards the jobs and their followers, status and
 * last.  It is held while wakers run (they only post), never across I/O. client
 * and what follows it belong to whoever has the agent, with no lock held.
 * Order: an await's progress_lock, that one, then whatever a waker takes;
 * objects.lock, the store's and the indexes' last.
 */
#include "controller.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent_client.h"
#include "clock.h"
#include "debug_fetcher.h"
#include "dump.h"
#include "errors.h"
#include "files.h"
#include "index_service.h"
#include "jobs.h"
#include "lever_job.h"
#include "log.h"
#include "map_seen.h"
#include "mappings_take.h"
#include "memory.h"
#include "node_status.h"
#include "objects.h"
#include "observer.h"
#include "overhead_limit.h"
#include "process_stat.h"
#include "profile.h"
#include "recorded_maps.h"
#include "snapshot.h"
#include "stats.h"
#include "stats_take.h"
#include "store.h"
#include "symbolizer.h"
#include "thread.h"

enum {
    CONNECT_MS = 100, /* between attempts to reach an agent */
    GREET_MS = 2000,  /* between greetings of an idle one */
    ENDED_MS = 20,    /* for the agent, to end profiling; the least wait */
    /* To name a dump's addresses: a statement has 60 s, and time must be left
     * for an answer without names. */
    NAMING_MS = 40000,
    STACK_BYTES = 1 << 20
};

/* Of the last profile; while profiled. */
struct last {
    bool profiled;
    uint64_t samples;
    int64_t profiled_ms;
    double frames; /* of the mean stack */
};

struct controller {
    struct jobs jobs;                   /* first */
    struct node_status status;          /* client.status with the next two */
    char absence_why[NODE_ABSENCE_MAX]; /* copied into status */
    struct node_arrival unserved;       /* likewise */
    struct last last;
    atomic_bool stop; /* read without the lock, too */

    struct agent_client client; /* from here on: for whoever has the agent */
    struct overhead_limit overhead_limit;
    struct objects objects;
    struct recorded_maps recorded; /* cleared with objects */
    struct map_seen seen;
    int segment;                   /* the recorder's; borrowed; -1: none */
    struct symbolizer *symbolizer; /* for whoever has the names; cancel: any */
    struct store *store;
    struct index_service *indexes; /* or NULL */
    struct observer observer;
    char *state_dir;
    uint32_t node_id;
    int wake_fd; /* eventfd: the greeter has to look */
    pthread_t greeter;
    bool greeter_runs;
    struct seat *ranges_seat; /* the greeter's: asked for */
};

/* With the lock: readers see a copy, the agent's holder writes its own. */
static void
copy_status(struct controller *c)
{
    c->status = c->client.status;
    memcpy(c->status.absence_why, c->absence_why, sizeof(c->absence_why));
    if (c->status.state == NODE_CONNECTED)
        c->unserved.pid = 0;
    c->status.unserved = c->unserved;
}

/* At the end of a job: wakes the greeter if the connection was lost. */
static void
publish_status(struct controller *c)
{
    copy_status(c);
    if (c->status.state != NODE_CONNECTED)
        (void)eventfd_write(c->wake_fd, 1);
}

/* Logs what the agent did while heapwired was away. */
static void
log_unguarded_stop(const struct controller *c)
{
    char at[CLOCK_TEXT];

    clock_text(c->client.status.unguarded_ms, at, sizeof(at));
    log_to(c->overhead_limit.log,
           "profiling was switched off in the database (pid %d) at %s UTC: "
           "heapwired was away for longer than guard_timeout",
           c->client.status.hello.pid, at);
}

/* The database has an agent that was loaded before heapwire's upgrade. */
static void
log_older_agent(const struct controller *c)
{
    const struct agent_hello *hello = &c->client.status.hello;

    log_to(c->overhead_limit.log, "the agent in %s (pid %d) %s", hello->exe,
           hello->pid, NODE_OLDER);
}

static void
refresh_controller_agent(struct controller *c)
{
    int64_t unguarded_ms = c->client.status.unguarded_ms;
    char note[AGENT_TEXT_MAX];
    bool changed;

    memcpy(note, c->client.status.note, sizeof(note));
    changed = agent_client_refresh(&c->client);
    process_children_scan(&c->client);
    if (c->client.status.state == NODE_ABSENT && *c->client.status.note &&
        strcmp(note, c->client.status.note) != 0)
        log_to(c->overhead_limit.log, "%s", c->client.status.note);
    if (changed && !(c->client.status.knows & AGENT_KNOWS_ALLOCATORS))
        log_older_agent(c);

    if (c->client.status.unguarded_ms != 0 &&
        c->client.status.unguarded_ms != unguarded_ms)
        log_unguarded_stop(c);
    lever_job_check(&c->client, c->overhead_limit.log);
    if (changed) {
        objects_clear(&c->objects);
        recorded_maps_clear(&c->recorded);
        overhead_limit_reset(&c->overhead_limit, &c->client);
    }
    pthread_mutex_lock(&c->jobs.flights.lock);
    if (changed)
        jobs_expire_all(&c->jobs);
    if (changed || c->status.hello.resets != c->client.status.hello.resets)
        c->last.profiled = false;
    copy_status(c);
    jobs_expire(&c->jobs);
    pthread_mutex_unlock(&c->jobs.flights.lock);
}

/* Switches profiling off when it is over budget, and publishes the status. */
static void
finish_greeting(struct controller *c)
{
    double frames;
    bool ended;

    pthread_mutex_lock(&c->jobs.flights.lock);
    frames = c->last.profiled ? c->last.frames : 0;
    pthread_mutex_unlock(&c->jobs.flights.lock);
    stats_take_samples(c->segment, &c->client.status);
    ended = overhead_limit_check(&c->overhead_limit, &c->client, frames);
    pthread_mutex_lock(&c->jobs.flights.lock);
    copy_status(c);
    if (ended)
        jobs_expire_all(&c->jobs);
    pthread_mutex_unlock(&c->jobs.flights.lock);
    observer_greeted(&c->observer, &c->client);
}

/* ---- jobs ---- */

/* Gives the agent to others before it looks for names. */
static struct snapshot *
take_job_snapshot(struct controller *c, struct job *job, struct error *err)
{
    struct snapshot *snapshot = NULL;
    struct dump dump = {.mapped = NULL};
    /* what runs now may be another process than the recorded one */
    bool recorded = job->request.kind == JOB_RECORDED, taken;
    struct objects own, *objects = recorded ? &own : &c->objects;

    objects_init(&own);
    taken = (recorded ? dump_take_recording(&dump, &job->recording, &c->client,
                                            objects, err)
                      : dump_take(&dump, &c->client, objects, &c->recorded,
                                  err)) == 0;
    pthread_mutex_lock(&c->jobs.flights.lock);
    publish_status(c);
    jobs_give_agent(job);
    pthread_mutex_unlock(&c->jobs.flights.lock);
    if (taken)
        snapshot = dump_make_snapshot(&dump, objects, c->symbolizer,
                                      &job->progress, err);
    dump_fini(&dump);
    objects_fini(&own);
    return snapshot;
}

/* Keeps it under the requested name.  Nobody joins the job any more, so its
 * keep and name are stable without the lock. */
static int
keep_snapshot(struct controller *c, const struct job *job,
              struct snapshot *snapshot, struct error *err)
{
    memcpy(snapshot->reason, job->reason, sizeof(snapshot->reason));
    if (*job->name)
        memcpy(snapshot->name, job->name, sizeof(snapshot->name));
    return store_add(c->store, snapshot, err);
}

/* A library that was loaded since the last greeting may bring a jemalloc.
 * The agent searches after it has answered, so its second greeting has the
 * result. */
static int
recheck_agent_status(struct controller *c, struct error *err)
{
    if (c->client.status.state != NODE_CONNECTED)
        return 0;
    refresh_controller_agent(c);
    refresh_controller_agent(c);
    return node_status_check_job(&c->client.status, JOB_ENABLE, err);
}

static void
run_dump(struct controller *c, struct job *job)
{
    struct error err = {0};
    struct snapshot *snapshot = take_job_snapshot(c, job, &err);
    double frames = 0;

    if (snapshot) {
        snapshot->node_id = c->node_id;
        snapshot->cause = job->request.cause; /* its name tells it */
        store_make_name(c->store, snapshot);
        job->not_kept = job->keep && keep_snapshot(c, job, snapshot, &err) != 0;
        frames = profile_mean_depth(snapshot->profile);
    }
    pthread_mutex_lock(&c->jobs.flights.lock);
    if (snapshot) {
        if (job->not_kept)
            job->flight.error = err;
        job->result.snapshot = snapshot;
        /* a dump from before a reset has samples that are forgotten now */
        if (job->request.kind != JOB_RECORDED)
            c->last = (struct last){
                snapshot->hello.resets == c->status.hello.resets,
                snapshot->profile->samples, snapshot->taken_ms, frames};
    }
    jobs_finish(job, snapshot ? NULL : &err);
    pthread_mutex_unlock(&c->jobs.flights.lock);
}

/* One exchange with the agent; a greeting follows where more has changed. */
static int
ask_agent(struct controller *c, struct job *job, struct job_result *result,
          struct error *err)
{
    enum job_kind kind = job->request.kind;
    int rc;

    if (kind == JOB_STATS) {
        result->stats = stats_take(&c->client, err);
        return result->stats ? 0 : -1;
    }
    if (kind == JOB_LEVER) {
        rc = lever_job_run(&c->client, &job->request.lever, job->flight.owner,
                           c->overhead_limit.log, &result->lever, err);
        (void)eventfd_write(c->wake_fd, 1); /* its end may be due sooner */
        return rc;
    }
    if (kind == JOB_ACCESS)
        return observer_set_access(&c->observer, &c->client, &result->active,
                                   err);
    rc = kind == JOB_ENABLE ? recheck_agent_status(c, err) : 0;
    if (rc == 0)
        rc = profiler_control_run(&c->client, c->store, &job->request, result,
                                  err);
    if (rc == 0 && kind == JOB_ENABLE)
        stats_take_elsewhere(&c->client);
    /* greet where the program has switched it, or its time is over */
    if (kind != JOB_GET_ACTIVE ||
        (rc == 0 && result->active != (c->client.status.hello.active != 0))) {
        refresh_controller_agent(c);
        (void)eventfd_write(c->wake_fd, 1); /* the next may be due sooner */
    }
    if (kind == JOB_ENABLE || kind == JOB_DISABLE)
        finish_greeting(c);
    return rc;
}

/* Reading mappings may take seconds: the agent is given to others first, unless
 * the process was made dumpable for this reading alone. */
static void
run_mappings(struct controller *c, struct job *job)
{
    struct mappings_take take;
    struct error err = {0};
    struct memory_map *map;
    int rc = mappings_take_open(&take, &c->client, &c->observer, &err);

    pthread_mutex_lock(&c->jobs.flights.lock);
    publish_status(c);
    if (!take.opened)
        jobs_give_agent(job);
    pthread_mutex_unlock(&c->jobs.flights.lock);
    map = rc == 0 ? mappings_take_read(&take, &c->seen, &err) : NULL;
    if (!map)
        map = mappings_make_failed(&err);
    mappings_take_close(&take, &c->client, &c->observer);
    pthread_mutex_lock(&c->jobs.flights.lock);
    job->result.mappings = map;
    jobs_finish(job, map ? NULL : &err);
    pthread_mutex_unlock(&c->jobs.flights.lock);
}

static void
run_job(struct job *job)
{
    struct controller *c = (struct controller *)job->flight.flights;
    struct job_result result = {0};
    struct error err = {0};
    int rc;

    if (job_is_dump(job)) {
        run_dump(c, job);
        return;
    }
    if (job->request.kind == JOB_MAPPINGS) {
        run_mappings(c, job);
        return;
    }
    if (job->request.kind == JOB_RANGES) {
        mappings_take_ranges(job, &c->client, &c->seen);
        return;
    }
    rc = ask_agent(c, job, &result, &err);
    pthread_mutex_lock(&c->jobs.flights.lock);
    publish_status(c);
    job->result = result;
    jobs_finish(job, rc == 0 ? NULL : &err);
    pthread_mutex_unlock(&c->jobs.flights.lock);
}

/* ---- the greeter ---- */

/* Milliseconds until the next greeting; 0 or less: now.  Right after profiling
 * or a lever is to end by itself, so that the end is seen soon. */
static int64_t
next_greeting(const struct controller *c, uint64_t greeted)
{
    const struct agent_hello *hello = &c->client.status.hello;
    int64_t left = (int64_t)(greeted + GREET_MS - clock_ms()), ends;

    if (c->client.status.state != NODE_CONNECTED)
        return CONNECT_MS;
    ends = lever_job_next(&c->client.status, clock_wall_ms());
    if (ends >= 0 && ends + ENDED_MS < left)
        left = ends + ENDED_MS;
    if (hello->active && hello->active_until_ms > 0) {
        ends = hello->active_until_ms + ENDED_MS - clock_wall_ms();
        left = ends < left ? ends : left;
    }
    return left;
}

/* While connected it polls for the agent's end alone: an answer belongs to the
 * job that has the agent at that time. */
static void *
greeter_main(void *arg)
{
    struct controller *c = arg;
    struct pollfd polls[2] = {{c->wake_fd, POLLIN, 0}, {-1, 0, 0}};
    uint64_t greeted = 0, drained;
    int64_t left;

    while (!atomic_load_explicit(&c->stop, memory_order_acquire)) {
        jobs_greeter_take(&c->jobs);
        if (c->client.status.state != NODE_CONNECTED ||
            agent_client_input_pending(&c->client) ||
            next_greeting(c, greeted) <= 0) {
            refresh_controller_agent(c);
            finish_greeting(c);
            greeted = clock_ms();
        }
        left = next_greeting(c, greeted);
        polls[1].fd = c->client.fd;
        polls[1].events =
            c->client.status.state == NODE_CONNECTED ? POLLRDHUP : POLLIN;
        jobs_greeter_give(&c->jobs);
        mappings_ask_ranges(&c->jobs, &c->status, &c->seen, &c->ranges_seat);
        poll(polls, 2, left > ENDED_MS ? (int)left : ENDED_MS);
        if (polls[0].revents) /* another wake-up may have taken it */
            (void)!read(c->wake_fd, &drained, sizeof(drained));
    }
    return NULL;
}

static int
start_controller_symbolizer(struct controller *c,
                            const struct controller_options *from,
                            struct error *err)
{
    struct symbolizer_indexes indexes = {index_service_open,
                                         index_service_asked, c->indexes};
    struct symbolizer_options options = {
        .program = from->symbolizer,
        .deadline_ms = NAMING_MS,
        .reader_mb = from->reader_mb,
        .indexes = c->indexes ? &indexes : NULL,
        .debug = {debug_fetcher_asked, from->debug}};

    c->symbolizer = symbolizer_new(&options, err);
    return c->symbolizer ? 0 : -1;
}

struct controller *
controller_start(const struct controller_options *options, struct error *err)
{
    struct controller *c = mem_zalloc(1, sizeof(*c));
    struct thread_start greeter = {"hw-greeter", STACK_BYTES, greeter_main, c};

    if (!c) {
        error_memory(err, "the controller");
        return NULL;
    }
    jobs_init(&c->jobs, run_job);
    objects_init(&c->objects);
    map_seen_init(&c->seen);
    c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->observer.state_dir = c->state_dir = mem_strdup(options->state_dir);
    agent_client_init(&c->client, c->state_dir, c->wake_fd, &c->stop);
    c->client.guard_s = options->guard_s;
    c->client.status.unprepared = options->unprepared;
    c->client.status.attached = options->attached;
    overhead_limit_init(&c->overhead_limit, options->budget_percent,
                        options->log);
    overhead_limit_reset(&c->overhead_limit, &c->client);
    copy_status(c);
    if (c->wake_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        goto fail;
    }
    if (!c->state_dir) {
        error_memory(err, "the controller");
        goto fail;
    }
    c->node_id = options->node_id;
    c->segment = c->recorded.segment = options->segment;
    c->store = store_open_or_in_memory(&options->store, options->log, err);
    if (!c->store)
        goto fail;
    c->indexes = index_service_try_start(
        options->index_dir, options->symbolizer, options->index_bytes,
        options->reader_mb, options->log);
    c->observer.jobs = &c->jobs;
    if (start_controller_symbolizer(c, options, err) != 0 ||
        observer_init(&c->observer, options, c->indexes, c->store, err) != 0)
        goto fail;
    c->greeter_runs = thread_start(&c->greeter, &greeter, err) == 0;
    if (!c->greeter_runs)
        goto fail;
    return c;
fail:
    controller_stop(c);
    return NULL;
}

/* Wakes twice: the greeter may swallow the wake-up of a job that awaits a
 * reply. */
static void
join_threads(struct controller *c)
{
    atomic_store_explicit(&c->stop, true, memory_order_release);
    (void)eventfd_write(c->wake_fd, 1);
    observer_stop(&c->observer); /* it may wait for a job */
    if (c->symbolizer)
        symbolizer_cancel(c->symbolizer);
    if (c->greeter_runs)
        pthread_join(c->greeter, NULL);
    flight_leave(c->ranges_seat);
    (void)eventfd_write(c->wake_fd, 1);
    jobs_stop(&c->jobs);
}

void
controller_stop(struct controller *c)
{
    if (!c)
        return;
    join_threads(c);
    observer_fini(&c->observer);
    store_close(c->store);
    symbolizer_free(c->symbolizer);
    index_service_stop(c->indexes);
    objects_fini(&c->objects);
    recorded_maps_clear(&c->recorded);
    map_seen_fini(&c->seen);
    agent_client_fini(&c->client);
    fd_close(c->wake_fd);
    mem_free(c->state_dir);
    mem_free(c);
}

void
controller_status(struct controller *c, struct node_status *out)
{
    pthread_mutex_lock(&c->jobs.flights.lock);
    *out = c->status;
    out->profiled = c->last.profiled;
    out->samples = c->last.samples;
    out->profiled_ms = c->last.profiled_ms;
    out->failed_snapshots = c->jobs.failed_snapshots;
    pthread_mutex_unlock(&c->jobs.flights.lock);
    stats_take_samples(c->segment, out);
}

void
controller_set_absence(struct controller *c, int32_t pid, const char *why)
{
    struct process_stat stat = {0};

    (void)process_stat_read(pid, &stat);
    pthread_mutex_lock(&c->jobs.flights.lock);
    c->unserved = (struct node_arrival){pid, stat.start_ticks};
    c->status.unserved = c->unserved;
    snprintf(c->absence_why, sizeof(c->absence_why), "%s", why);
    memcpy(c->status.absence_why, c->absence_why, sizeof(c->absence_why));
    pthread_mutex_unlock(&c->jobs.flights.lock);
}

struct seat *
controller_submit(struct controller *c, const struct job_request *request,
                  struct waker waker, struct error *err)
{
    struct seat *seat = NULL;

    if (request->name && store_check_name(c->store, request->name, err) != 0)
        return NULL; /* reported before the work, not after it */
    pthread_mutex_lock(&c->jobs.flights.lock);
    if (node_status_check_request(&c->status, request, err) == 0)
        seat = jobs_join(&c->jobs, request, waker, err);
    pthread_mutex_unlock(&c->jobs.flights.lock);
    return seat;
}

int
controller_wait(struct seat *seat, struct await *await,
                struct job_result *result, struct error *err)
{
    int rc = seat ? flight_wait(seat, await, err) : -1;

    if (rc == 0 && controller_poll_job(seat, result, err) != FLIGHT_DONE)
        rc = -1;
    flight_leave(seat);
    return rc;
}

struct store *
controller_store(struct controller *c)
{
    return c->store;
}

struct index_service *
controller_indexes(struct controller *c)
{
    return c->indexes;
}

struct observer *
controller_observer(struct controller *c)
{
    return &c->observer;
}
