/* scripted_controller.c - see scripted_controller.h. */
#include "scripted_controller.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "forms.h"
#include "memory.h"
#include "memory_map.h"
#include "profile.h"
#include "snapshot.h"

struct scripted scripted;

static char fake;

struct job {
    struct flight flight; /* first */
    enum job_kind kind;
};

static struct flights flights;
static struct job *waiting; /* the latest, or NULL */

/* They wait for scripted_finish. */
static struct flight *
next_job(struct flights *all)
{
    (void)all;
    return NULL;
}

struct controller *
scripted_reset(void)
{
    struct agent_hello *hello = &scripted.status.hello;
    struct error err;

    store_close(scripted.store);
    memset(&scripted, 0, sizeof(scripted));
    scripted.store = store_open(&store_defaults, NULL, &err);
    if (!scripted.store)
        abort();
    waiting = NULL;
    flights_init(&flights, "scripted", 1, next_job);
    scripted.status.state = NODE_CONNECTED;
    scripted.status.since_ms = 1795228267000;
    hello->pid = 4711;
    hello->started_ms = 1795228267000;
    hello->config_prof = hello->opt_prof = 1;
    hello->lg_sample = 19;
    snprintf(hello->version, sizeof(hello->version), "5.3.0-test");
    snprintf(hello->mallctl, sizeof(hello->mallctl), "mallctl");
    snprintf(hello->malloc_conf_name, sizeof(hello->malloc_conf_name),
             "MALLOC_CONF");
    return (struct controller *)&fake;
}

static void
on_free(struct flight *flight)
{
    scripted.seats--;
    if ((struct flight *)waiting == flight)
        waiting = NULL;
    mem_free(flight);
}

static bool
on_progress(struct flight *flight, struct progress *out)
{
    *out = flight->finished ? (struct progress){3, 3, 100, "made"}
                            : (struct progress){2, 3, 50, "naming"};
    return true;
}

static const struct flight_kind job_kind = {NULL, on_free, on_progress, false};

static void
finish(struct job *job, bool ok)
{
    struct error err;

    error_set(&err, ER_UNKNOWN, "opt.prof is false");
    flight_finish(&job->flight, ok ? NULL : &err);
}

void
scripted_finish(bool ok)
{
    pthread_mutex_lock(&flights.lock);
    if (waiting && !waiting->flight.finished)
        finish(waiting, ok);
    pthread_mutex_unlock(&flights.lock);
}

void
controller_status(struct controller *controller, struct node_status *out)
{
    (void)controller;
    *out = scripted.status;
}

int32_t
controller_observe_pid(struct controller *controller, struct error *err)
{
    (void)controller;
    if (scripted.status.peer == 0)
        error_set(err, ER_UNKNOWN, "no database is connected");
    return scripted.status.peer;
}

struct seat *
controller_submit(struct controller *controller,
                  const struct job_request *request, struct waker waker,
                  struct error *err)
{
    struct seat *seat;
    struct job *job;

    (void)controller;
    scripted.submitted++;
    scripted.request = *request;
    snprintf(scripted.name, sizeof(scripted.name), "%s",
             request->name ? request->name : "");
    if (scripted.answer == ANSWER_REFUSE) {
        error_set(err, ER_UNKNOWN, "the database ended");
        return NULL;
    }
    job = mem_zalloc(1, sizeof(*job));
    if (!job) {
        error_memory(err, "a job");
        return NULL;
    }
    pthread_mutex_lock(&flights.lock);
    scripted.seats++;
    flight_init(&job->flight, &job_kind, &flights, request->owner);
    job->kind = request->kind;
    if (scripted.answer == ANSWER_DONE || scripted.answer == ANSWER_FAIL)
        finish(job, scripted.answer == ANSWER_DONE);
    waiting = job;
    seat = flight_join(&job->flight, waker, err);
    flight_unref(&job->flight);
    pthread_mutex_unlock(&flights.lock);
    return seat;
}

static struct profile *
no_profile(void)
{
    struct profile *profile = mem_zalloc(1, sizeof(*profile));

    if (!profile)
        return NULL;
    profile->program = profile->note = profile->memory = "";
    profile->rate = 1;
    profile->arena = arena_new(SIZE_MAX);
    if (profile->arena)
        return profile;
    profile_free(profile);
    return NULL;
}

struct snapshot *
scripted_snapshot(const char *name)
{
    struct snapshot *snapshot = snapshot_new();

    if (!snapshot)
        return NULL;
    snprintf(snapshot->name, sizeof(snapshot->name), "%s", name);
    snapshot->taken_ms = 1795228267000;
    snapshot->node_id = 10001;
    snapshot->hello = scripted.status.hello;
    snapshot->profile = scripted.profile ? scripted.profile() : no_profile();
    if (snapshot->profile) {
        snprintf(snapshot->hello.exe, sizeof(snapshot->hello.exe), "%s",
                 snapshot->profile->program);
        return snapshot;
    }
    snapshot_unref(snapshot);
    return NULL;
}

static struct snapshot *
make_snapshot(void)
{
    return scripted_snapshot("heap_1");
}

enum flight_state
controller_poll_job(struct seat *seat, struct job_result *result,
                    struct error *err)
{
    struct job *job = (struct job *)seat->flight;
    enum flight_state state = flight_poll(seat, err);

    if (state == FLIGHT_DONE && job->kind == JOB_RECENT &&
        scripted.fail_snapshots) {
        error_set(err, ER_UNKNOWN, "opt.prof is false");
        return FLIGHT_FAILED;
    }
    if (state != FLIGHT_DONE)
        return state;
    switch (job->kind) {
    case JOB_GET_ACTIVE:
        result->active = scripted.active;
        break;
    case JOB_ENABLE:
        scripted.active = true;
        break;
    case JOB_DISABLE:
    case JOB_RESET:
        scripted.active = false;
        break;
    case JOB_PROFILE:
    case JOB_RECENT:
        scripted.profiles++;
        result->snapshot = make_snapshot();
        if (!result->snapshot) {
            error_memory(err, "a snapshot");
            return FLIGHT_FAILED;
        }
        break;
    case JOB_STATS:
        result->stats = scripted.stats ? scripted.stats() : NULL;
        break;
    case JOB_ACCESS:
    case JOB_LEVER:
    case JOB_RANGES:
        break;
    case JOB_MAPPINGS:
        result->mappings = memory_map_new();
        break;
    case JOB_RECORDED:
    case JOB_SNAPSHOT:
        scripted.snapshots++;
        result->snapshot = make_snapshot();
        break;
    }
    return FLIGHT_DONE;
}

/* As a profile of the heap, which is then called another kind. */
struct seat *
controller_observe(struct controller *controller,
                   const struct observe_request *request, struct waker waker,
                   struct error *err)
{
    const struct job_request job = {.kind = request->keep ? JOB_SNAPSHOT
                                                          : JOB_PROFILE,
                                    .owner = request->owner,
                                    .name = request->name};

    scripted.observed++;
    scripted.observe = *request;
    return controller_submit(controller, &job, waker, err);
}

int
controller_observe_wait(struct seat *seat, struct await *await,
                        struct observe_result *result, struct error *err)
{
    struct job_result job = {0};

    if (controller_wait(seat, await, &job, err) != 0)
        return -1;
    job.snapshot->profile->kind =
        scripted.observe.kind == OBSERVE_WALL ? PROFILE_WALL : PROFILE_CPU;
    result->snapshot = job.snapshot;
    return 0;
}

struct store *
controller_store(struct controller *controller)
{
    (void)controller;
    return scripted.store;
}

struct snapshot *
scripted_keep(const char *name)
{
    struct snapshot *snapshot = scripted_snapshot(name);
    struct error err;

    if (!snapshot || store_add(scripted.store, snapshot, &err) != 0)
        abort();
    snapshot_unref(snapshot);
    return snapshot;
}

/* In the renderer's place: these tests are not about graphs. */
int
dot_write(const struct profile *profile, const struct view_options *options,
          struct buffer *out, struct error *err)
{
    static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

    (void)profile;
    (void)err;
    pthread_mutex_lock(&noting); /* several may render at once */
    scripted.options = *options;
    snprintf(scripted.focus, sizeof(scripted.focus), "%s",
             options->focus ? options->focus : "");
    snprintf(scripted.ignore, sizeof(scripted.ignore), "%s",
             options->ignore ? options->ignore : "");
    pthread_mutex_unlock(&noting);
    if (scripted.on_render)
        scripted.on_render();
    buffer_text(out, "digraph \"x\" {\nN1;\n}\n");
    return 0;
}

struct index_service *
controller_indexes(struct controller *controller)
{
    (void)controller;
    return NULL;
}
