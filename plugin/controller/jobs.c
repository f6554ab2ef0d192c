/* jobs.c - see jobs.h. */
#include "jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "memory.h"
#include "share.h"
#include "snapshot.h"
#include "stats.h"

enum { JOBS_MAX = 64 /* waiting in the queue */ };

static void
job_unref(struct job *job)
{
    work_unref(job ? &job->work : NULL);
}

void
jobs_init(struct jobs *jobs)
{
    pthread_mutex_init(&jobs->lock, NULL);
}

void
jobs_fini(struct jobs *jobs)
{
    struct job *next;

    for (struct job *job = jobs->queue; job; job = next) {
        next = job->next;
        job_unref(job);
    }
    job_unref(jobs->recent_dump);
    job_unref(jobs->recent_stats);
    pthread_mutex_destroy(&jobs->lock);
}

bool
job_is_dump(enum job_kind kind)
{
    return kind == JOB_PROFILE || kind == JOB_SNAPSHOT || kind == JOB_RECENT;
}

static bool
is_change(enum job_kind kind)
{
    return kind == JOB_ENABLE || kind == JOB_DISABLE || kind == JOB_RESET;
}

static bool
is_read(enum job_kind kind)
{
    return kind == JOB_GET_ACTIVE || kind == JOB_STATS;
}

/* ---- a job as work that is awaited ---- */

static void
job_free(struct work *work)
{
    struct job *job = (struct job *)work;

    snapshot_unref(job->result.snapshot);
    stats_unref(job->result.stats);
    mem_free(job);
}

/* A job in the queue that no ticket waits for any more makes room. */
static void
job_left(struct work *work)
{
    struct job *job = (struct job *)work, **at = &job->jobs->queue;

    while (*at && *at != job)
        at = &(*at)->next;
    if (!*at)
        return; /* it runs, for later requests */
    *at = job->next;
    job_unref(job);
}

/* Only naming has a known share; a dump reports no progress. */
static void
dump_stage(struct job *job, struct progress *out)
{
    static const char *const texts[DUMP_STAGES] = {
        "Dumping the heap", "Resolving names", "Making the snapshot"};
    struct dump_progress *p = &job->progress;
    unsigned named = __atomic_load_n(&p->named, __ATOMIC_RELAXED);
    unsigned addresses = __atomic_load_n(&p->addresses, __ATOMIC_RELAXED);

    out->stages = DUMP_STAGES;
    out->stage = __atomic_load_n(&p->stage, __ATOMIC_RELAXED);
    out->text = texts[out->stage - 1];
    if (out->stage == DUMP_NAMING && addresses > 0)
        out->percent =
            named < addresses ? (unsigned)(100ull * named / addresses) : 100;
}

static bool
job_progress(struct work *work, struct progress *out)
{
    static const char *const texts[] = {
        [JOB_GET_ACTIVE] = "Asking the database",
        [JOB_ENABLE] = "Switching profiling on",
        [JOB_DISABLE] = "Switching profiling off",
        [JOB_RESET] = "Forgetting all samples",
        [JOB_STATS] = "Reading statistics"};
    struct job *job = (struct job *)work;

    if (__atomic_load_n(&job->progress.stage, __ATOMIC_RELAXED) == 0)
        return false; /* it waits for its turn */
    *out = (struct progress){1, 1, 0, ""};
    if (job_is_dump(job->request.kind))
        dump_stage(job, out);
    else
        out->text = texts[job->request.kind];
    if (work->finished)
        out->percent = 100;
    return true;
}

static const struct work_kind job_kind = {job_free, job_left, job_progress};

/* ---- joining ---- */

/* Begun or finished so lately, and nothing changed since it began. */
static bool
is_recent(const struct jobs *jobs, const struct job *job)
{
    return job && !job->work.failed && job->generation == jobs->generation &&
           clock_ms() - job->at_ms <= CONTROLLER_RECENT_MS;
}

/* A job that has begun, where an answer that is a little old will do. */
static struct job *
shareable(struct jobs *jobs, enum job_kind kind)
{
    if (kind == JOB_STATS) {
        if (is_recent(jobs, jobs->recent_stats))
            return jobs->recent_stats;
        if (is_recent(jobs, jobs->running) &&
            jobs->running->request.kind == kind)
            return jobs->running;
    }
    if (kind == JOB_RECENT) {
        if (is_recent(jobs, jobs->recent_dump))
            return jobs->recent_dump;
        if (is_recent(jobs, jobs->resolving))
            return jobs->resolving;
        if (is_recent(jobs, jobs->running) &&
            job_is_dump(jobs->running->request.kind))
            return jobs->running;
    }
    return NULL;
}

/* Two may share a kept snapshot that neither gave a name. */
static bool
can_share(const struct job *job, const struct job_request *request)
{
    return !request->name && !*job->name &&
           request->cause == job->request.cause &&
           strcmp(request->reason ? request->reason : "", job->reason) == 0;
}

/* A request joins the last waiting job if that answers it too.  It never joins
 * a running job: its answer may be older than the request. */
static struct job *
joinable(struct jobs *jobs, const struct job_request *request)
{
    struct job *last = jobs->queue;
    enum job_kind kind = request->kind;

    while (last && last->next)
        last = last->next;
    if (!last || (request->kind == JOB_SNAPSHOT && last->keep &&
                  !can_share(last, request)))
        return NULL;
    if (job_is_dump(kind) ? job_is_dump(last->request.kind)
                          : is_read(kind) && last->request.kind == kind)
        return last;
    return NULL;
}

static void
copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static struct job *
enqueue(struct jobs *jobs, const struct job_request *request, struct error *err)
{
    struct share places = {.user = request->owner ? request->owner : ""};
    struct job **end = &jobs->queue, *job;

    for (; *end; end = &(*end)->next)
        share_count(&places, (*end)->owner);
    if (share_check(&places, JOBS_MAX, "requests that wait for the node",
                    "cancel some", err) != 0)
        return NULL;
    job = mem_zalloc(1, sizeof(*job));
    if (!job) {
        error_memory(err, "a request to the node");
        return NULL;
    }
    work_init(&job->work, &job_kind, &jobs->lock);
    job->jobs = jobs;
    job->request = *request;
    copy_text(job->owner, sizeof(job->owner), places.user);
    *end = job;
    return job;
}

static void
keep_as(struct job *job, const struct job_request *request)
{
    job->keep = true;
    job->request.cause = request->cause;
    copy_text(job->name, sizeof(job->name), request->name);
    copy_text(job->reason, sizeof(job->reason), request->reason);
}

struct ticket *
jobs_attach(struct jobs *jobs, const struct job_request *request,
            struct waker waker, struct error *err)
{
    struct ticket *ticket = mem_zalloc(1, sizeof(*ticket));
    struct job *job = shareable(jobs, request->kind);

    if (!ticket) {
        error_memory(err, "a request to the node");
        return NULL;
    }
    if (!job)
        job = joinable(jobs, request);
    if (!job)
        job = enqueue(jobs, request, err);
    if (!job) {
        mem_free(ticket);
        return NULL;
    }
    /* After a change, its requester never gets an older answer. */
    jobs->generation += is_change(request->kind);
    if (request->kind == JOB_SNAPSHOT && !job->keep)
        keep_as(job, request);
    work_attach(&job->work, ticket, waker);
    ticket->keep = request->kind == JOB_SNAPSHOT;
    return ticket;
}

/* ---- running ---- */

/* A reset checks the kept snapshots, so it waits for the one being made. */
static bool
is_reset_too_soon(const struct jobs *jobs, const struct job *job)
{
    return job->request.kind == JOB_RESET && jobs->resolving &&
           jobs->resolving->keep;
}

/*
 * While the resolver is busy a dump waits, and so does every change behind it;
 * a read may overtake both.
 */
static struct job *
take_any(struct jobs *jobs)
{
    bool change_waits = false;

    for (struct job **at = &jobs->queue; *at; at = &(*at)->next) {
        struct job *job = *at;

        if (job_is_dump(job->request.kind) && jobs->resolving) {
            change_waits = true;
            continue;
        }
        change_waits |= is_reset_too_soon(jobs, job);
        if (change_waits && !is_read(job->request.kind))
            continue;
        *at = job->next;
        job->next = NULL;
        return job;
    }
    return NULL;
}

struct job *
jobs_take(struct jobs *jobs)
{
    struct job *job = take_any(jobs);

    if (job) {
        job->at_ms = clock_ms();
        job->generation = jobs->generation;
        __atomic_store_n(&job->progress.stage, 1, __ATOMIC_RELAXED);
    }
    jobs->running = job;
    return job;
}

void
jobs_resolve(struct jobs *jobs, struct job *job)
{
    jobs->running = NULL;
    jobs->resolving = job;
}

static void
keep_recent(struct job **recent, struct job *job)
{
    job_unref(*recent);
    *recent = job;
    job->work.references++;
}

void
jobs_finish(struct jobs *jobs, struct job *job, const struct error *failure)
{
    job->at_ms = clock_ms();
    if (jobs->running == job)
        jobs->running = NULL;
    if (jobs->resolving == job)
        jobs->resolving = NULL;
    jobs->generation += is_change(job->request.kind);
    jobs->failed_snapshots += job->keep && (failure || job->not_kept);
    if (!failure && job_is_dump(job->request.kind))
        keep_recent(&jobs->recent_dump, job);
    if (!failure && job->request.kind == JOB_STATS &&
        !job->result.stats->failure)
        keep_recent(&jobs->recent_stats, job);
    work_finish(&job->work, failure);
    job_unref(job); /* the queue's */
}

void
jobs_forget(struct jobs *jobs)
{
    jobs->generation++;
    jobs_expire(jobs);
}

static void
expire(const struct jobs *jobs, struct job **recent)
{
    if (is_recent(jobs, *recent))
        return;
    job_unref(*recent);
    *recent = NULL;
}

void
jobs_expire(struct jobs *jobs)
{
    expire(jobs, &jobs->recent_dump);
    expire(jobs, &jobs->recent_stats);
}

/* ---- what waits: without the lock ---- */

enum ticket_state
ticket_poll(struct ticket *ticket, struct job_result *result, struct error *err)
{
    struct job *job = (struct job *)ticket->work;
    enum ticket_state state = ticket_look(ticket, err);

    if (state != TICKET_DONE)
        return state;
    if (ticket->keep && job->not_kept) {
        *err = job->work.error;
        return TICKET_FAILED;
    }
    *result = job->result; /* which changes no more */
    if (result->snapshot)
        snapshot_ref(result->snapshot);
    if (result->stats)
        stats_ref(result->stats);
    return TICKET_DONE;
}

int
controller_wait(struct ticket *ticket, struct await *await,
                struct job_result *result, struct error *err)
{
    int rc = ticket_wait(ticket, await, err);

    if (rc == 0 && ticket_poll(ticket, result, err) != TICKET_DONE)
        rc = -1;
    ticket_free(ticket);
    return rc;
}
