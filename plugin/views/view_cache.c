/*
 * view_cache.c - see view_cache.h.
 *
 * A job is in the cache's list while it waits or runs and can be joined.  Its
 * tickets and that list, or the thread that runs it, hold references.
 */
#include "view_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "share.h"
#include "thread.h"
#include "view_work.h"
#include "wrappers.h"

enum { STACK_BYTES = 1 << 20 /* of a thread */ };

struct view_job {
    struct work work; /* first */
    struct view_cache *cache;
    struct view_work task;
    struct view_job *next;           /* in the list */
    char owner[SHARE_OWNER_MAX + 1]; /* of the first ticket */
    bool running;
    struct view *view;
};

struct view_cache {
    struct store *store;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t work;
    struct view_job *jobs; /* oldest first */
    struct view_kept kept;
    struct view_counts counts;
    char wrappers[WRAPPERS_TEXT_BYTES];
    bool stop;
    pthread_t threads[VIEW_THREADS];
    unsigned thread_count; /* known once they have been started */
    struct view_job *running[VIEW_THREADS]; /* even those given up */
};

/* ---- jobs: with the lock ---- */

static void
job_unref(struct view_job *job)
{
    work_unref(&job->work);
}

static void
job_free(struct work *work)
{
    struct view_job *job = (struct view_job *)work;

    view_unref(job->view);
    view_work_fini(&job->task);
    mem_free(job);
}

static void
remove_job(struct view_cache *cache, struct view_job *job)
{
    struct view_job **at = &cache->jobs;

    while (*at && *at != job)
        at = &(*at)->next;
    if (!*at)
        return; /* given up before */
    *at = job->next;
    job_unref(job);
}

/* No ticket joins it then. */
static void
job_left(struct work *work)
{
    struct view_job *job = (struct view_job *)work;

    atomic_store(&job->task.cancelled, true);
    remove_job(job->cache, job);
}

static bool
job_progress(struct work *work, struct progress *out)
{
    struct view_job *job = (struct view_job *)work;

    view_work_progress(&job->task, out);
    if (!job->running)
        out->text = "Waiting to be rendered";
    return true;
}

static const struct work_kind job_kind = {job_free, job_left, job_progress};

static struct view_job *
find_job(struct view_cache *cache, const struct buffer *key)
{
    for (struct view_job *job = cache->jobs; job; job = job->next)
        if (job->task.key.size == key->size &&
            memcmp(job->task.key.data, key->data, key->size) == 0)
            return job;
    return NULL;
}

static bool
may_run(const struct view_cache *cache, const struct view_job *job)
{
    struct share threads = {.user = job->owner};

    for (unsigned i = 0; i < cache->thread_count; i++)
        if (cache->running[i])
            share_count(&threads, cache->running[i]->owner);
    return share_has_room(&threads, cache->thread_count);
}

static struct view_job *
next_job(struct view_cache *cache)
{
    for (struct view_job *job = cache->jobs; job; job = job->next)
        if (!job->running && may_run(cache, job))
            return job;
    return NULL;
}

static void
finish(struct view_cache *cache, struct view_job *job,
       const struct error *failure)
{
    remove_job(cache, job);
    cache->counts.rendered += !failure;
    if (!failure && job->task.lasting &&
        !view_kept_find(&cache->kept, &job->task.key)) /* as one given up */
        view_kept_add(&cache->kept, &job->task.key, job->view);
    work_finish(&job->work, failure);
}

/* Without the lock. */
static int
compute(struct view_cache *cache, struct view_job *job, struct error *err)
{
    struct view *view = view_new(VIEW_BYTES_MAX);

    if (!view) {
        error_memory(err, "a view");
        return -1;
    }
    if (view_work_run(&job->task, cache->store, &view->bytes, err) != 0) {
        view_unref(view);
        return -1;
    }
    view_finish(view);
    job->view = view;
    return 0;
}

/* Gives up the lock meanwhile. */
static void
work(struct view_cache *cache, struct view_job *job)
{
    struct error err;
    int rc;

    job->running = true;
    job->work.references++;
    pthread_mutex_unlock(&cache->lock);
    rc = compute(cache, job, &err);
    pthread_mutex_lock(&cache->lock);
    finish(cache, job, rc == 0 ? NULL : &err);
    job_unref(job);
}

/* Where the thread notes its job. */
static struct view_job **
free_place(struct view_cache *cache)
{
    struct view_job **place = cache->running;

    while (*place)
        place++;
    return place;
}

static void *
thread_main(void *arg)
{
    struct view_cache *cache = arg;
    struct view_job **place, *job;

    pthread_mutex_lock(&cache->lock);
    while (!cache->stop) {
        job = next_job(cache);
        if (!job) {
            pthread_cond_wait(&cache->work, &cache->lock);
            continue;
        }
        place = free_place(cache);
        *place = job;
        work(cache, job);
        *place = NULL;
        pthread_cond_broadcast(&cache->work); /* owners have other shares */
    }
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

/* ---- the node's wrappers ---- */

void
view_cache_set_wrappers(struct view_cache *cache, const char *list)
{
    pthread_mutex_lock(&cache->lock);
    snprintf(cache->wrappers, sizeof(cache->wrappers), "%s", list);
    pthread_mutex_unlock(&cache->lock);
}

void
view_cache_get_wrappers(struct view_cache *cache, char *out)
{
    pthread_mutex_lock(&cache->lock);
    memcpy(out, cache->wrappers, sizeof(cache->wrappers));
    pthread_mutex_unlock(&cache->lock);
}

/* ---- tickets ---- */

static struct view_job *
job_new(struct view_cache *cache, const struct view_request *request,
        struct error *err)
{
    struct view_job *job = mem_zalloc(1, sizeof(*job));
    char wrappers[WRAPPERS_TEXT_BYTES];

    if (!job) {
        error_memory(err, "a view");
        return NULL;
    }
    work_init(&job->work, &job_kind, &cache->lock);
    job->cache = cache;
    snprintf(job->owner, sizeof(job->owner), "%s",
             request->owner ? request->owner : "");
    view_cache_get_wrappers(cache, wrappers);
    if (view_work_init(&job->task, cache->store, request, wrappers, err) == 0)
        return job;
    mem_free(job);
    return NULL;
}

/* Whether it may be begun. */
static int
check_room(const struct view_cache *cache, const char *owner, struct error *err)
{
    struct share places = {.user = owner};

    for (const struct view_job *job = cache->jobs; job; job = job->next)
        share_count(&places, job->owner);
    if (share_check(&places, VIEW_JOBS_MAX, "views to be rendered",
                    "cancel some", err) != 0)
        return -1;
    if (view_bytes_alive() < VIEW_ALIVE_BYTES_MAX)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "Out of memory: the views that are being read have %d MB "
              "together; read them to the end, or try again later",
              VIEW_ALIVE_BYTES_MAX >> 20);
    return -1;
}

/* With the lock. */
static int
enqueue(struct view_cache *cache, struct view_job *job, struct error *err)
{
    struct view_job **end = &cache->jobs;

    if (check_room(cache, job->owner, err) != 0)
        return -1;
    while (*end)
        end = &(*end)->next;
    *end = job;
    job->work.references++;
    pthread_cond_signal(&cache->work);
    return 0;
}

/* With the lock: from memory, by a job that is there, or by this new one. */
static int
answer(struct view_cache *cache, struct ticket *ticket, struct waker waker,
       struct view_job *new, struct error *err)
{
    const struct buffer *key = &new->task.key;
    struct view *kept =
        new->task.lasting ? view_kept_find(&cache->kept, key) : NULL;
    struct view_job *same = find_job(cache, key);

    if (kept) {
        new->view = view_ref(kept);
        work_finish(&new->work, NULL);
        work_attach(&new->work, ticket, waker);
        cache->counts.cached++;
    } else if (same) {
        work_attach(&same->work, ticket, waker);
        cache->counts.shared++;
    } else {
        if (enqueue(cache, new, err) != 0)
            return -1;
        work_attach(&new->work, ticket, waker);
        if (cache->thread_count == 0)
            work(cache, new);
    }
    return 0;
}

struct ticket *
view_cache_submit(struct view_cache *cache, const struct view_request *request,
                  struct waker waker, struct error *err)
{
    struct ticket *ticket = mem_zalloc(1, sizeof(*ticket));
    struct view_job *job = NULL;
    int rc = -1;

    if (!ticket) {
        error_memory(err, "a view");
        return NULL;
    }
    job = job_new(cache, request, err);
    if (job) {
        pthread_mutex_lock(&cache->lock);
        rc = answer(cache, ticket, waker, job, err);
        job_unref(job);
        pthread_mutex_unlock(&cache->lock);
    }
    if (rc == 0)
        return ticket;
    mem_free(ticket);
    return NULL;
}

enum ticket_state
view_ticket_poll(struct ticket *ticket, struct view **out, struct error *err)
{
    struct view_job *job = (struct view_job *)ticket->work;
    enum ticket_state state = ticket_look(ticket, err);

    if (state == TICKET_DONE)
        *out = view_ref(job->view); /* which changes no more */
    return state;
}

struct view *
view_cache_wait(struct ticket *ticket, struct await *await, struct error *err)
{
    struct view *view = NULL;

    if (ticket_wait(ticket, await, err) == 0)
        (void)view_ticket_poll(ticket, &view, err);
    ticket_free(ticket);
    return view;
}

void
view_cache_count(struct view_cache *cache, struct view_counts *out)
{
    pthread_mutex_lock(&cache->lock);
    *out = cache->counts;
    out->views = cache->kept.count;
    out->bytes = cache->kept.bytes;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- start and stop ---- */

struct view_cache *
view_cache_start(struct store *store, unsigned threads, struct error *err)
{
    struct view_cache *cache = mem_zalloc(1, sizeof(*cache));
    struct thread_start thread = {"hw-views", STACK_BYTES, thread_main, cache};
    int rc = 0;

    if (!cache) {
        error_memory(err, "the cache of views");
        return NULL;
    }
    cache->store = store;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->work, NULL);
    pthread_mutex_lock(&cache->lock);
    while (rc == 0 && cache->thread_count < threads &&
           cache->thread_count < VIEW_THREADS) {
        rc = thread_start(&cache->threads[cache->thread_count], &thread, err);
        cache->thread_count += rc == 0;
    }
    pthread_mutex_unlock(&cache->lock);
    if (rc == 0)
        return cache;
    view_cache_stop(cache);
    return NULL;
}

void
view_cache_stop(struct view_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_lock(&cache->lock);
    cache->stop = true;
    pthread_cond_broadcast(&cache->work);
    pthread_mutex_unlock(&cache->lock);
    for (unsigned i = 0; i < cache->thread_count; i++)
        pthread_join(cache->threads[i], NULL);
    view_kept_fini(&cache->kept);
    pthread_cond_destroy(&cache->work);
    pthread_mutex_destroy(&cache->lock);
    mem_free(cache);
}
