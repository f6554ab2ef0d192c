/*
 * jobs.c - which job runs next, and who shares its answer; see jobs.h.
 *
 * Twenty users who open the same page must not cost the database twenty dumps:
 * a request joins a waiting job that answers it too, or an answer of the last
 * second.  It never joins a running one whose answer may be older than the
 * request, except where a little age is allowed.  Sharing must not cross a
 * change (a switch, a reset, a lever): the generation is raised when one is
 * asked for and when it is done, and only answers of the same generation are
 * recent.  The queue has a ceiling and each user a share of it.  The lists are
 * short (JOBS_MAX), so every decision is one walk over them, under the lock.
 */
#include "jobs.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "files.h"
#include "memory.h"
#include "memory_map.h"
#include "user_quota.h"
#include "snapshot.h"
#include "stats.h"

enum {
    JOBS_MAX = 64, /* that wait for their turn */
    /* One asks the agent, one has the names, one reads mappings. */
    JOBS_THREADS = 3
};

static void
job_unref(struct job *job)
{
    flight_unref(job ? &job->flight : NULL);
}

static const struct {
    bool dumps, changes; /* neither: it only reads */
    const char *text;    /* for its progress; a dump has stages instead */
} kinds[] = {
    [JOB_GET_ACTIVE] = {.text = "Asking the database"},
    [JOB_ENABLE] = {.changes = true, .text = "Switching profiling on"},
    [JOB_DISABLE] = {.changes = true, .text = "Switching profiling off"},
    [JOB_RESET] = {.changes = true, .text = "Forgetting all samples"},
    [JOB_PROFILE] = {.dumps = true},
    [JOB_SNAPSHOT] = {.dumps = true},
    [JOB_RECENT] = {.dumps = true},
    [JOB_RECORDED] = {.dumps = true},
    [JOB_STATS] = {.text = "Reading statistics"},
    [JOB_MAPPINGS] = {.text = "Reading mappings"},
    [JOB_RANGES] = {.text = "Reading mappings"},
    [JOB_ACCESS] = {.text = "Asking the database"},
    [JOB_LEVER] = {.changes = true, .text = "Changing jemalloc"},
};

static const char *const stages[] = {[DUMP_TAKING] = "Dumping the heap",
                                     [DUMP_NAMING] = "Resolving names",
                                     [DUMP_MAKING] = "Making the snapshot"};

bool
job_is_dump(const struct job *job)
{
    return kinds[job->request.kind].dumps;
}

static bool
is_read(enum job_kind kind)
{
    return !kinds[kind].dumps && !kinds[kind].changes;
}

/* The started job that has the agent, or (asks false) the started dump; or
 * NULL. */
static struct job *
find_job(const struct jobs *jobs, bool asks)
{
    for (struct flight *f = jobs->flights.first; f; f = f->next) {
        struct job *job = (struct job *)f;

        if (f->started && (asks ? job->asks : job_is_dump(job)))
            return job;
    }
    return NULL;
}

static bool
reads_mappings(const struct job *job)
{
    return job->request.kind == JOB_MAPPINGS || job->request.kind == JOB_RANGES;
}

/* The job that reads mappings, also after it gave the agent to others; or
 * NULL. */
static struct job *
find_reader(const struct jobs *jobs)
{
    for (struct flight *f = jobs->flights.first; f; f = f->next)
        if (f->started && !f->finished && reads_mappings((struct job *)f))
            return (struct job *)f;
    return NULL;
}

/* ---- a job as a flight ---- */

static void
on_job_flight_run(struct flight *flight)
{
    struct job *job = (struct job *)flight;
    struct jobs *jobs = (struct jobs *)flight->flights;

    pthread_mutex_lock(&jobs->flights.lock);
    job->at_ms = clock_ms();
    job->generation = jobs->generation;
    pthread_mutex_unlock(&jobs->flights.lock);
    atomic_store_explicit(&job->progress.stage, 1, memory_order_relaxed);
    jobs->run(job);
}

static void
on_job_flight_free(struct flight *flight)
{
    struct job *job = (struct job *)flight;

    snapshot_unref(job->result.snapshot);
    stats_unref(job->result.stats);
    memory_map_unref(job->result.mappings);
    fd_close(job->recording.segment);
    mem_free(job);
}

/* Only naming knows its percentage: jemalloc's dump reports none. */
static bool
on_job_flight_progress(struct flight *flight, struct progress *out)
{
    struct job *job = (struct job *)flight;
    struct dump_progress *p = &job->progress;
    unsigned stage = atomic_load_explicit(&p->stage, memory_order_relaxed);
    unsigned named = atomic_load_explicit(&p->named, memory_order_relaxed);
    unsigned addresses =
        atomic_load_explicit(&p->addresses, memory_order_relaxed);

    if (stage == 0)
        return false; /* it has not begun */
    if (job_is_dump(job))
        *out = (struct progress){stage, DUMP_STAGES, 0, stages[stage]};
    else
        *out = (struct progress){1, 1, 0, kinds[job->request.kind].text};
    if (stage == DUMP_NAMING && addresses > 0)
        out->percent =
            named < addresses ? (unsigned)(100ull * named / addresses) : 100;
    if (flight->finished)
        out->percent = 100;
    return true;
}

static const struct flight_kind job_kind = {
    on_job_flight_run, on_job_flight_free, on_job_flight_progress,
    .cancels = false};

/* A reset checks the kept snapshots, so it waits for the one being made. */
static bool
is_reset_too_soon(const struct job *dump, const struct job *job)
{
    return job->request.kind == JOB_RESET && dump && dump->keep;
}

/*
 * One job at a time has the agent, and one has the names, so a dump waits for
 * both.  Every change waits behind a waiting dump, so that the dump shows what
 * was there when it was asked for; a read may overtake both.
 */
static struct flight *
next_job(struct flights *flights)
{
    struct jobs *jobs = (struct jobs *)flights;
    struct job *dump = find_job(jobs, false);
    bool change_waits = false;

    /* every job begins with the agent */
    if (jobs->greets || find_job(jobs, true))
        return NULL;
    for (struct flight *f = flights->first; f; f = f->next) {
        struct job *job = (struct job *)f;
        bool dump_waits = job_is_dump(job) && dump;
        bool waits = dump_waits || (reads_mappings(job) && find_reader(jobs));

        if (f->started)
            continue;
        change_waits |= dump_waits || is_reset_too_soon(dump, job);
        if (!waits && (!change_waits || is_read(job->request.kind)))
            return f;
    }
    return NULL;
}

void
jobs_init(struct jobs *jobs, void (*run)(struct job *job))
{
    flights_init(&jobs->flights, "hw-node", JOBS_THREADS, next_job);
    pthread_cond_init(&jobs->agent_free, NULL);
    jobs->run = run;
}

void
jobs_stop(struct jobs *jobs)
{
    flights_stop(&jobs->flights);
    job_unref(jobs->recent_dump);
    job_unref(jobs->recent_stats);
    job_unref(jobs->recent_mappings);
    pthread_cond_destroy(&jobs->agent_free);
}

/* ---- joining ---- */

/* Whether it began or finished so lately that its answer will do, and nothing
 * has changed since it began. */
static bool
is_recent_job(const struct jobs *jobs, const struct job *job)
{
    return job && !job->flight.failed && job->generation == jobs->generation &&
           clock_ms() - job->at_ms <= CONTROLLER_RECENT_MS;
}

/* Whether it is about the present process: a JOB_RECORDED is about another
 * moment, or another process. */
static bool
is_current_job(const struct job *job)
{
    return job && job->request.kind != JOB_RECORDED;
}

/* A running or recent job that the request may share, if an answer of a moment
 * ago suffices for it.  Not a dump that is kept, nor one from before that: the
 * new one may be what the kept one will be compared with. */
static struct job *
find_reusable_job(struct jobs *jobs, enum job_kind kind)
{
    struct job *recent = kind == JOB_STATS      ? jobs->recent_stats
                         : kind == JOB_MAPPINGS ? jobs->recent_mappings
                         : kind == JOB_RECENT   ? jobs->recent_dump
                                                : NULL;
    struct job *under_way = kind == JOB_STATS      ? find_job(jobs, true)
                            : kind == JOB_MAPPINGS ? find_reader(jobs)
                            : kind == JOB_RECENT   ? find_job(jobs, false)
                                                   : NULL;

    if (is_recent_job(jobs, recent))
        return recent;
    if (is_current_job(under_way) && is_recent_job(jobs, under_way) &&
        !under_way->keep &&
        (kind == JOB_RECENT || under_way->request.kind == kind))
        return under_way;
    return NULL;
}

/* Two requests may share a kept snapshot if neither names it, and both have the
 * same cause and reason. */
static bool
can_share(const struct job *job, const struct job_request *request)
{
    return !request->name && !*job->name &&
           request->cause == job->request.cause &&
           strcmp(request->reason ? request->reason : "", job->reason) == 0;
}

/* The last waiting job, if it answers the request too.  Only the last: one
 * before a change would answer from before it. */
static struct job *
find_joinable_job(struct jobs *jobs, const struct job_request *request)
{
    struct job *last = NULL;
    enum job_kind kind = request->kind;

    for (struct flight *f = jobs->flights.first; f; f = f->next)
        if (!f->started)
            last = (struct job *)f;
    if (!is_current_job(last) || kind == JOB_RECORDED ||
        (kind == JOB_SNAPSHOT && last->keep && !can_share(last, request)))
        return NULL;
    if (kinds[kind].dumps ? job_is_dump(last)
                          : is_read(kind) && last->request.kind == kind)
        return last;
    return NULL;
}

/* Only waiting jobs count for the quota: running ones are few by nature. */
static struct job *
job_new(struct jobs *jobs, const struct job_request *request, struct error *err)
{
    struct user_quota quota = {.user = request->owner ? request->owner : ""};
    struct job *job;

    for (struct flight *f = jobs->flights.first; f; f = f->next)
        if (!f->started)
            user_quota_count(&quota, f->owner);
    if (user_quota_check(&quota, JOBS_MAX, "requests that wait for the node",
                         "cancel some", err) != 0)
        return NULL;
    job = mem_zalloc(1, sizeof(*job));
    if (!job) {
        error_memory(err, "a request to the node");
        return NULL;
    }
    flight_init(&job->flight, &job_kind, &jobs->flights, request->owner);
    job->request = *request;
    job->asks = true;
    job->request.recording = NULL;
    job->recording.segment = -1;
    return job;
}

/* The first request that wants a kept snapshot gives the job its name. */
static void
keep_as(struct job *job, const struct job_request *request)
{
    job->keep = true;
    job->request.cause = request->cause;
    snprintf(job->name, sizeof(job->name), "%s",
             request->name ? request->name : "");
    snprintf(job->reason, sizeof(job->reason), "%s",
             request->reason ? request->reason : "");
}

struct seat *
jobs_join(struct jobs *jobs, const struct job_request *request,
          struct waker waker, struct error *err)
{
    struct job *job = find_reusable_job(jobs, request->kind), *new = NULL;
    struct seat *seat = NULL;

    if (!job)
        job = find_joinable_job(jobs, request);
    if (!job)
        job = new = job_new(jobs, request, err);
    if (job)
        seat = flight_join(&job->flight, waker, err);
    if (seat) {
        seat->keep =
            request->kind == JOB_SNAPSHOT || request->kind == JOB_RECORDED;
        if (seat->keep && !job->keep)
            keep_as(job, request);
        if (request->recording)
            job->recording = *request->recording;
        /* the requester of a change must never get an answer from before it */
        jobs->generation += kinds[request->kind].changes;
    }
    job_unref(new);
    return seat;
}

/* ---- running ---- */

void
jobs_give_agent(struct job *job)
{
    struct jobs *jobs = (struct jobs *)job->flight.flights;

    job->asks = false;
    pthread_cond_signal(&jobs->agent_free);
    flights_roll(&jobs->flights);
}

/* greets keeps next_job from beginning another: the greeter waits for one
 * exchange at most, however long the queue is. */
void
jobs_greeter_take(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->flights.lock);
    jobs->greets = true;
    while (find_job(jobs, true))
        pthread_cond_wait(&jobs->agent_free, &jobs->flights.lock);
    pthread_mutex_unlock(&jobs->flights.lock);
}

void
jobs_greeter_give(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->flights.lock);
    jobs->greets = false;
    flights_roll(&jobs->flights);
    pthread_mutex_unlock(&jobs->flights.lock);
}

static void
keep_recent(struct job **recent, struct job *job)
{
    job_unref(*recent);
    *recent = job;
    if (job)
        job->flight.references++;
}

void
jobs_finish(struct job *job, const struct error *failure)
{
    struct jobs *jobs = (struct jobs *)job->flight.flights;

    job->at_ms = clock_ms();
    job->asks = false; /* flight_finish may start the next on this thread */
    pthread_cond_signal(&jobs->agent_free);
    jobs->generation += kinds[job->request.kind].changes;
    jobs->failed_snapshots += job->keep && (failure || job->not_kept);
    if (!failure && job_is_dump(job) && is_current_job(job))
        /* none from before a kept one may be reused: find_reusable_job() */
        keep_recent(&jobs->recent_dump, job->keep ? NULL : job);
    if (!failure && job->request.kind == JOB_STATS &&
        !job->result.stats->failure)
        keep_recent(&jobs->recent_stats, job);
    if (!failure && job->request.kind == JOB_MAPPINGS &&
        !job->result.mappings->failure)
        keep_recent(&jobs->recent_mappings, job);
    flight_finish(&job->flight, failure);
}

void
jobs_expire_all(struct jobs *jobs)
{
    jobs->generation++;
    jobs_expire(jobs);
}

static void
expire_recent_job(const struct jobs *jobs, struct job **recent)
{
    if (is_recent_job(jobs, *recent))
        return;
    job_unref(*recent);
    *recent = NULL;
}

void
jobs_expire(struct jobs *jobs)
{
    expire_recent_job(jobs, &jobs->recent_dump);
    expire_recent_job(jobs, &jobs->recent_stats);
    expire_recent_job(jobs, &jobs->recent_mappings);
}

/* ---- those that follow: without the lock ---- */

enum flight_state
controller_poll_job(struct seat *seat, struct job_result *result,
                    struct error *err)
{
    struct job *job = (struct job *)seat->flight;
    enum flight_state state = flight_poll(seat, err);

    if (state != FLIGHT_DONE)
        return state;
    if (seat->keep && job->not_kept) {
        *err = job->flight.error;
        return FLIGHT_FAILED;
    }
    *result = job->result; /* which changes no more */
    if (result->snapshot)
        snapshot_ref(result->snapshot);
    if (result->stats)
        stats_ref(result->stats);
    if (result->mappings)
        memory_map_ref(result->mappings);
    return FLIGHT_DONE;
}
