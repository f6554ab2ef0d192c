/*
 * observer.c - see observer.h.
 *
 * An observation is a flight beside the controller's jobs: it needs neither the
 * agent nor the jobs' names, so it works while the database hangs in a dump.
 * Two run at a time, one profile and one list of threads; more profiles would
 * add up to a load that each would measure as the database's.  The exception is
 * a process that is not dumpable, which only root may read: then the agent is
 * asked to make it dumpable for the time of the observation, by a job
 * (JOB_ACCESS), and to put it back.
 */
#include "observer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent_client.h"
#include "clock.h"
#include "debug_fetcher.h"
#include "code_map.h"
#include "confined.h"
#include "controller.h"
#include "errors.h"
#include "files.h"
#include "index_service.h"
#include "jobs.h"
#include "log.h"
#include "memory.h"
#include "node_status.h"
#include "observe.h"
#include "process_stat.h"
#include "profile.h"
#include "user_quota.h"
#include "snapshot.h"
#include "store.h"
#include "symbolizer.h"
#include "table_loader.h"
#include "threads.h"
#include "unwind_store.h"
#include "unwind_tables.h"

enum {
    WAITING_MAX = 16,      /* observations, for their turn */
    POOL_THREADS = 2,      /* one profile, one list of threads */
    NAMING_MS = 40000,     /* a statement's deadline moves by as much */
    ACCESS_WAIT_MS = 5000, /* for the agent, which may be busy */
    ACCESS_MORE_MS = 30000 /* for attaching to all threads */
};

struct observation {
    struct flight flight; /* first */
    struct observe_request request;
    char name[SNAPSHOT_NAME_MAX + 1];
    struct agent_hello hello; /* of the process; without agent its pid alone */
    struct node_arrival process; /* as this process sees it */
    bool has_agent, opened;      /* opened: made dumpable, for now */
    struct error why_closed;     /* text "": it is not, or not to us */
    struct observe_result result;
    atomic_uint stage;         /* enum observe_stage; 0: not begun */
    _Atomic uint64_t since_ms; /* 0: not begun; written before the stage */
};

static struct observer *
observer_of(const struct observation *o)
{
    return (struct observer *)o->flight.flights;
}

static bool
takes_time(const struct observation *o)
{
    return o->request.kind != OBSERVE_THREADS;
}

/* ---- a process that is not dumpable ---- */

/* The latest time until which an observation needs it; 0: none does. */
static uint64_t
last_access_ms(const struct observer *observer)
{
    uint64_t last_ms = 0;

    for (size_t i = 0; i < OBSERVER_USES; i++)
        if (observer->access_until_ms[i] > last_ms)
            last_ms = observer->access_until_ms[i];
    return last_ms;
}

int
observer_set_access(struct observer *observer, struct agent_client *client,
                    bool *opened, struct error *err)
{
    struct agent_request request = {.op = AGENT_DUMPABLE};
    uint64_t last_ms = last_access_ms(observer), now = clock_ms();
    struct agent_client_answer answer;

    if (!(client->status.knows & AGENT_KNOWS_DUMPABLE)) {
        error_set(err, ER_UNKNOWN, "the agent in %s " NODE_OLDER,
                  client->status.hello.exe);
        return -1;
    }
    if (last_ms > now) {
        request.number = 1;
        request.seconds = (last_ms - now) / 1000 + 1;
        observer->opened = true;
    }
    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    observer->opened = *opened = answer.reply.value != 0;
    agent_client_answer_close(&answer);
    return 0;
}

/* Asks the agent for access, by a job; ms 0: to end it.  The agent also ends it
 * by itself after that time, whatever becomes of us. */
static int
ask_access(struct observation *o, uint64_t ms, struct error *err)
{
    const struct job_request request = {.kind = JOB_ACCESS};
    struct observer *observer = observer_of(o);
    struct job_result result = {0};
    struct await await;
    struct seat *seat;
    int rc;

    observer->access_until_ms[takes_time(o)] = ms > 0 ? clock_ms() + ms : 0;
    await_init(&await, NULL, NULL);
    await.deadline_ms = clock_ms() + ACCESS_WAIT_MS;
    pthread_mutex_lock(&observer->jobs->flights.lock);
    seat = jobs_join(observer->jobs, &request, await_waker(&await), err);
    pthread_mutex_unlock(&observer->jobs->flights.lock);
    rc = seat ? flight_wait(seat, &await, err) : -1;
    if (rc == 0 && controller_poll_job(seat, &result, err) != FLIGHT_DONE)
        rc = -1;
    flight_leave(seat);
    if (rc != 0 && await_is_over(&await))
        error_set(err, ER_UNKNOWN, "the agent is busy, or does not answer");
    await_fini(&await);
    o->opened = ms > 0 && rc == 0 && result.active;
    return rc;
}

static void
close_process(void *arg)
{
    struct observation *o = arg;
    struct error err;

    if (o->opened && ask_access(o, 0, &err) != 0 &&
        process_is_alive(o->process.pid, o->process.start_ticks))
        log_to(observer_of(o)->log,
               "the database (pid %" PRId32
               ") was made dumpable, and may still be; this is put back at the "
               "next greeting: %s",
               o->process.pid, err.text);
}

/* Whether the process is closed only because it is not dumpable: one of another
 * user would be refused anyway.  observer->opened is read twice, as another
 * observation may open or close the process in between. */
static bool
is_process_inaccessible(const struct observation *o)
{
    const struct observer *observer = observer_of(o);

    return o->has_agent && o->hello.uid == geteuid() &&
           (observer->opened || code_map_is_refused(o->process.pid) ||
            observer->opened);
}

/* Makes the process dumpable, if only that keeps us from reading it. */
static bool
open_process(void *arg)
{
    struct observation *o = arg;
    struct observer *observer = observer_of(o);

    if (!is_process_inaccessible(o))
        return false;
    if (!observer->dumpable)
        error_set(&o->why_closed, ER_UNKNOWN,
                  "the setting dumpable = no forbids to make it dumpable");
    else if (ask_access(o, o->request.seconds * 1000ull + ACCESS_MORE_MS,
                        &o->why_closed) == 0)
        o->why_closed.text[0] = '\0';
    if (!o->opened)
        observer->access_until_ms[takes_time(o)] = 0;
    return o->opened;
}

/* ---- one observation ---- */

static struct snapshot *
make_observation_snapshot(const struct observation *o, struct profile *profile,
                          struct error *err)
{
    struct observer *observer = observer_of(o);
    struct snapshot *snapshot = snapshot_new();

    if (!snapshot) {
        profile_free(profile);
        error_memory(err, "a snapshot");
        return NULL;
    }
    snapshot->profile = profile;
    snapshot->taken_ms = profile->origin.taken_ms;
    snapshot->hello = o->hello;
    if (!*o->hello.exe) /* no agent has greeted */
        snprintf(snapshot->hello.exe, sizeof(snapshot->hello.exe), "%s",
                 profile->program);
    snapshot->node_id = observer->node_id;
    store_make_name(observer->store, snapshot);
    if (*o->name)
        memcpy(snapshot->name, o->name, sizeof(snapshot->name));
    if (!o->request.keep || store_add(observer->store, snapshot, err) == 0)
        return snapshot;
    snapshot_unref(snapshot);
    return NULL;
}

static int
take_profile(struct observation *o, const struct observing *observing,
             struct error *err)
{
    const bool wall = o->request.kind == OBSERVE_WALL;
    const struct sampler_options options = {
        .pid = o->process.pid,
        .milliseconds = o->request.seconds * 1000,
        .hz = o->request.hz,
        .wall = wall,
        .kernel = o->request.kernel,
        .cancelled = &o->flight.cancelled,
        .attached = observing->restore_closed,
        .attached_arg = observing->arg};
    struct profile *profile = time_profile_take(
        observing, wall ? PROFILE_WALL : PROFILE_CPU, &options, err);

    if (profile)
        o->result.snapshot = make_observation_snapshot(o, profile, err);
    return o->result.snapshot ? 0 : -1;
}

static void
add_reason(struct error *err, const char *why)
{
    size_t used = strlen(err->text);

    snprintf(err->text + used, sizeof(err->text) - used, "; %s", why);
}

static void
run_observation(struct flight *flight)
{
    struct observation *o = (struct observation *)flight;
    struct observer *observer = observer_of(o);
    struct observing observing = {.tables = observer->tables[takes_time(o)],
                                  .names = &observer->names,
                                  .cancelled = &flight->cancelled,
                                  .stop_fd = observer->stop_fd,
                                  .pid = o->process.pid,
                                  .exe = o->hello.exe,
                                  .stage = &o->stage,
                                  .memfd = observer->memfd,
                                  .make_readable = open_process,
                                  .restore_closed = close_process,
                                  .arg = o};
    struct error err;
    int rc;

    o->since_ms = clock_ms();
    atomic_store_explicit(&o->stage, OBSERVE_SAMPLING, memory_order_release);
    if (!process_is_alive(o->process.pid, o->process.start_ticks)) {
        error_set(&err, ER_UNKNOWN,
                  "the database's process (pid %" PRId32 ") has ended",
                  o->process.pid);
        rc = -1;
    } else if (takes_time(o)) {
        rc = take_profile(o, &observing, &err);
    } else {
        o->result.threads =
            observe_threads_take(&observing, o->request.kernel, &err);
        rc = o->result.threads ? 0 : -1;
    }
    close_process(o);
    if (rc != 0 && *o->why_closed.text)
        add_reason(&err, o->why_closed.text);
    pthread_mutex_lock(&observer->flights.lock);
    flight_finish(flight, rc == 0 ? NULL : &err);
    pthread_mutex_unlock(&observer->flights.lock);
}

static void
free_observation(struct flight *flight)
{
    struct observation *o = (struct observation *)flight;

    snapshot_unref(o->result.snapshot);
    thread_list_unref(o->result.threads);
    mem_free(o);
}

static bool
observation_progress(struct flight *flight, struct progress *out)
{
    static const char *const texts[] = {[OBSERVE_SAMPLING] = "Sampling",
                                        [OBSERVE_NAMING] = "Resolving names",
                                        [OBSERVE_MAKING] =
                                            "Making the snapshot"};
    struct observation *o = (struct observation *)flight;
    unsigned stage = atomic_load_explicit(&o->stage, memory_order_acquire);
    uint64_t all_ms = o->request.seconds * 1000ull, ms;

    if (stage == 0) {
        *out = (struct progress){1, OBSERVE_MAKING, 0,
                                 "Waiting for another profile"};
        return true;
    }
    *out = (struct progress){stage, OBSERVE_MAKING, 0, texts[stage]};
    if (stage == OBSERVE_SAMPLING && all_ms > 0) {
        ms = clock_ms() - o->since_ms;
        out->percent = ms < all_ms ? (unsigned)(ms * 100 / all_ms) : 100;
    }
    if (flight->finished)
        out->percent = 100;
    return true;
}

static const struct flight_kind observation_kind = {
    run_observation, free_observation, observation_progress, .cancels = true};

/* The next to run: one profile at a time, so that their costs do not add up,
 * and one list of threads. */
static struct flight *
next_observation(struct flights *flights)
{
    bool busy[2] = {false, false};

    for (struct flight *f = flights->first; f; f = f->next)
        if (f->started)
            busy[takes_time((struct observation *)f)] = true;
    for (struct flight *f = flights->first; f; f = f->next)
        if (!f->started && !busy[takes_time((struct observation *)f)])
            return f;
    return NULL;
}

static bool
observe_request_equals(const struct observation *o,
                       const struct observe_request *request)
{
    return o->request.kind == request->kind &&
           o->request.seconds == request->seconds &&
           o->request.hz == request->hz &&
           o->request.kernel == request->kernel && !o->request.keep &&
           !request->keep;
}

static bool
observed_process_equals(const struct observation *o,
                        const struct node_arrival *process)
{
    return o->process.pid == process->pid &&
           o->process.start_ticks == process->start_ticks;
}

/* An equal one that waits; a running one has begun before the request. */
static struct observation *
find_equal(const struct observer *observer,
           const struct observe_request *request,
           const struct node_arrival *process)
{
    for (struct flight *f = observer->flights.first; f; f = f->next)
        if (!f->started && !atomic_load(&f->cancelled) &&
            observed_process_equals(((struct observation *)f), process) &&
            observe_request_equals((struct observation *)f, request))
            return (struct observation *)f;
    return NULL;
}

/* A request that would wait for long is refused at once: its statement has a
 * deadline, and would fail without an answer. */
static int
check_profile_queue(const struct observer *observer,
                    const struct observe_request *request, struct error *err)
{
    uint64_t needs_ms = 0, passed_ms;
    const char *owner = "";

    for (struct flight *f = observer->flights.first; f; f = f->next) {
        const struct observation *o = (struct observation *)f;
        uint64_t all_ms = o->request.seconds * 1000ull;

        if (!takes_time(o) || request->kind == OBSERVE_THREADS ||
            atomic_load(&f->cancelled))
            continue;
        passed_ms = o->since_ms > 0 ? clock_ms() - o->since_ms : 0;
        needs_ms += passed_ms < all_ms ? all_ms - passed_ms : 0;
        owner = f->owner;
    }
    if (needs_ms <= OBSERVE_WAIT_S * 1000ull)
        return 0;
    error_set(err, ER_UNKNOWN,
              "only one profile of time is taken at a time, and others (the "
              "last is of '%s') need %" PRIu64
              " s more: ask again then, or end them "
              "by KILL QUERY (SHOW PROCESSLIST)",
              owner, needs_ms / 1000);
    return -1;
}

static struct observation *
new_observation(struct observer *observer,
                const struct observe_request *request,
                const struct node_status *status,
                const struct node_arrival *process, struct error *err)
{
    struct user_quota quota = {.user = request->owner ? request->owner : ""};
    struct observation *o;

    for (struct flight *f = observer->flights.first; f; f = f->next)
        if (!f->started)
            user_quota_count(&quota, f->owner);
    if (user_quota_check(&quota, WAITING_MAX,
                         "profiles that wait for their turn", "cancel some",
                         err) != 0)
        return NULL;
    o = mem_zalloc(1, sizeof(*o));
    if (!o) {
        error_memory(err, "a request to the node");
        return NULL;
    }
    flight_init(&o->flight, &observation_kind, &observer->flights,
                request->owner);
    o->request = *request;
    o->request.owner = o->request.name = NULL;
    snprintf(o->name, sizeof(o->name), "%s",
             request->name ? request->name : "");
    o->process = *process;
    o->hello = status->hello;
    o->has_agent = status->peer == process->pid;
    if (!o->has_agent) /* none has greeted */
        o->hello = (struct agent_hello){.pid = process->pid,
                                        .start_ticks = process->start_ticks};
    return o;
}

struct seat *
observer_join(struct observer *observer, const struct observe_request *request,
              const struct node_status *status,
              const struct node_arrival *process, struct waker waker,
              struct error *err)
{
    struct observation *o, *new = NULL;
    struct seat *seat = NULL;

    pthread_mutex_lock(&observer->flights.lock);
    o = find_equal(observer, request, process);
    if (!o && check_profile_queue(observer, request, err) == 0)
        o = new = new_observation(observer, request, status, process, err);
    if (o)
        seat = flight_join(&o->flight, waker, err);
    flight_unref(new ? &new->flight : NULL);
    pthread_mutex_unlock(&observer->flights.lock);
    return seat;
}

int
controller_observe_wait(struct seat *seat, struct await *await,
                        struct observe_result *result, struct error *err)
{
    int rc = seat ? flight_wait(seat, await, err) : -1;

    if (rc == 0) { /* a finished one does not change any more */
        *result = ((struct observation *)seat->flight)->result;
        if (result->snapshot)
            snapshot_ref(result->snapshot);
        if (result->threads)
            thread_list_ref(result->threads);
    }
    flight_leave(seat);
    return rc;
}

/* ---- the agent's own tables ---- */

/* Passes a table to the agent.  A refused one is left out; only the end of the
 * connection stops the rest. */
static int
give_table(void *arg, uint64_t address, int fd)
{
    struct agent_client *client = arg;
    struct agent_request request = {.op = AGENT_TABLE, .number = address};
    struct agent_client_answer answer;
    struct error ignored;

    if (agent_client_call_with_fd(client, &request, fd, &answer, &ignored) == 0)
        agent_client_answer_close(&answer);
    return client->status.state == NODE_CONNECTED ? 0 : -1;
}

void
observer_greeted(struct observer *observer, struct agent_client *client)
{
    const struct table_loader_agent to = {give_table, dump_take_code, client};
    const struct node_status *status = &client->status;
    struct error ignored;
    bool opened;

    if (status->state == NODE_CONNECTED && status->hello.active &&
        (status->knows & AGENT_KNOWS_TABLES))
        table_loader_update(observer->loader, client->peer,
                            status->hello.start_ticks, &to);
    if (status->state == NODE_CONNECTED && observer->opened &&
        last_access_ms(observer) == 0)
        (void)observer_set_access(observer, client, &opened, &ignored);
}

/* ---- start and stop ---- */

int
observer_init(struct observer *observer,
              const struct controller_options *options,
              struct index_service *service, struct store *store,
              struct error *err)
{
    struct symbolizer_indexes indexes = {index_service_open,
                                         index_service_asked, service};
    struct symbolizer_options symbolizer = {
        .program = options->symbolizer,
        .deadline_ms = NAMING_MS,
        .reader_mb = options->reader_mb,
        .debug = {debug_fetcher_asked, options->debug},
        .indexes = service ? &indexes : NULL};
    const struct unwind_store_options kept = {options->unwind_dir,
                                              options->index_bytes};
    struct unwind_tables_options tables = {.program = options->symbolizer};
    struct error why = {0};
    const char *filters;

    observer->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    flights_init(&observer->flights, "hw-observe", POOL_THREADS,
                 next_observation);
    pthread_mutex_init(&observer->names.lock, NULL);
    observer->store = store;
    observer->log = options->log;
    observer->node_id = options->node_id;
    observer->dumpable = options->dumpable;
    if (observer->stop_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        return -1;
    }
    observer->names.symbolizer = symbolizer_new(&symbolizer, err);
    if (!observer->names.symbolizer)
        return -1;
    tables.store = observer->unwind_store = unwind_store_new(&kept, &why);
    if (*why.text)
        log_to(options->log, "no unwind tables are kept: %s", why.text);
    for (int i = 0; i < 2 && tables.store; i++)
        observer->tables[i] = unwind_tables_new(&tables, &why);
    if (!observer->tables[0] || !observer->tables[1]) {
        error_memory(err, "unwind tables");
        return -1;
    }
    filters = getenv(AGENT_ENV_FILTERS); /* NOLINT(concurrency-mt-unsafe) */
    observer->memfd =
        confined_read(confined_filters(), filters) & CONFINED_MEMFD;
    observer->loader = table_loader_new(&tables, observer->memfd, err);
    return observer->loader ? 0 : -1;
}

void
observer_stop(struct observer *observer)
{
    if (!observer->flights.name)
        return;
    if (observer->stop_fd >= 0)
        (void)eventfd_write(observer->stop_fd, 1);
    if (observer->names.symbolizer)
        symbolizer_cancel(observer->names.symbolizer);
    flights_stop(&observer->flights);
}

void
observer_fini(struct observer *observer)
{
    if (!observer->flights.name)
        return;
    table_loader_free(observer->loader);
    symbolizer_free(observer->names.symbolizer);
    for (int i = 0; i < 2; i++)
        unwind_tables_free(observer->tables[i]);
    unwind_store_free(observer->unwind_store);
    pthread_mutex_destroy(&observer->names.lock);
    fd_close(observer->stop_fd);
}
