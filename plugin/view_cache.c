/*
 * view_cache.c - see view_cache.h.
 *
 * A job is in the cache's list while it waits or runs and can be joined.  Its
 * tickets and that list, or the thread that runs it, hold references.
 */
#include "view_cache.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "snapshot.h"
#include "store.h"
#include "view.h"
#include "view_options.h"

enum {
    KEY_MAX = 64 * 1024,
    STACK_BYTES = 1 << 20 /* of a thread */
};

enum view_stage { STAGE_LOADING, STAGE_COMPARING, STAGE_RENDERING };

struct view_job {
    struct view_job *next; /* in the list */
    struct view_request request;
    struct view_options options;
    struct buffer key;
    char *name, *base, *focus, *ignore; /* what those point to */
    bool keep;                          /* of kept snapshots alone */
    bool running, finished, failed;
    atomic_bool cancelled;
    atomic_uint stage; /* enum view_stage; relaxed */
    struct view *view;
    struct error error;
    struct view_ticket *tickets;
    int references;
};

struct view_ticket {
    struct view_cache *cache;
    struct view_job *job; /* NULL: */
    struct view *view;    /* it was in memory */
    struct waker waker;
    struct view_ticket *next; /* of the same job */
};

/* A view that is kept; the list begins with the one used last. */
struct entry {
    struct entry *next;
    struct buffer key;
    struct view *view;
};

struct view_cache {
    struct controller *controller;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t work;
    struct view_job *jobs; /* oldest first */
    size_t job_count;
    struct entry *entries;
    struct view_counts counts;
    bool stop;
    pthread_t threads[VIEW_THREADS];
    unsigned thread_count;
};

/* ---- views ---- */

static struct view *
view_new(void)
{
    struct view *view = mem_zalloc(1, sizeof(*view));

    if (view) {
        view->references = 1;
        buffer_init(&view->bytes, VIEW_BYTES_MAX);
    }
    return view;
}

static struct view *
view_ref(struct view *view)
{
    __atomic_add_fetch(&view->references, 1, __ATOMIC_RELAXED);
    return view;
}

/* Release pairs with acquire: whoever frees has seen all uses end. */
void
view_unref(struct view *view)
{
    if (!view || __atomic_sub_fetch(&view->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    buffer_fini(&view->bytes);
    mem_free(view);
}

/* ---- keys ---- */

/* Which snapshot has this name now: its serial. */
static int
identify(struct view_cache *cache, const char *name, uint64_t *serial,
         struct error *err)
{
    struct snapshot *snapshot =
        store_get(controller_store(cache->controller), name, err);

    if (!snapshot)
        return -1;
    *serial = snapshot->serial;
    snapshot_unref(snapshot);
    return 0;
}

static void
add_text(struct buffer *key, const char *text)
{
    buffer_u8(key, text != NULL);
    buffer_lenenc_bytes(key, text ? text : "", text ? strlen(text) : 0);
}

static void
add_double(struct buffer *key, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    buffer_u64(key, bits);
}

static void
add_options(struct buffer *key, const struct view_options *options)
{
    buffer_u8(key, (uint8_t)options->measure);
    buffer_u8(key, (uint8_t)options->granularity);
    buffer_u32(key, options->nodecount);
    add_double(key, options->nodefraction);
    add_double(key, options->edgefraction);
    buffer_u32(key, options->maxdegree);
    buffer_u8(key, options->allocator_frames);
    buffer_u8(key, options->show_bytes);
    buffer_u8(key, options->by_growth);
    add_text(key, options->focus);
    add_text(key, options->ignore);
}

/* All that the view depends on. */
static int
make_key(struct view_cache *cache, const struct view_request *request,
         struct buffer *key, struct error *err)
{
    uint64_t serial = request->snapshot ? request->snapshot->serial : 0;
    uint64_t base = 0;

    if (request->name && identify(cache, request->name, &serial, err) != 0)
        return -1;
    if (request->base && identify(cache, request->base, &base, err) != 0)
        return -1;
    buffer_u64(key, serial);
    buffer_u64(key, base);
    buffer_u8(key, request->force);
    add_text(key, request->form ? request->form->name : NULL);
    if (request->form && request->form->takes_options)
        add_options(key, request->options);
    if (!key->failed)
        return 0;
    error_memory(err, "what a view is asked to show");
    return -1;
}

static bool
same_key(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* ---- what is kept ---- */

/* The entry is the list's first from now on. */
static struct view *
find_kept(struct view_cache *cache, const struct buffer *key)
{
    for (struct entry **at = &cache->entries; *at; at = &(*at)->next) {
        struct entry *entry = *at;

        if (!same_key(&entry->key, key))
            continue;
        *at = entry->next;
        entry->next = cache->entries;
        cache->entries = entry;
        return entry->view;
    }
    return NULL;
}

static size_t
entry_bytes(const struct entry *entry)
{
    return sizeof(*entry) + entry->key.capacity + entry->view->bytes.capacity;
}

static void
drop_last(struct view_cache *cache)
{
    struct entry **at = &cache->entries, *entry;

    while ((*at)->next)
        at = &(*at)->next;
    entry = *at;
    *at = NULL;
    cache->counts.views--;
    cache->counts.bytes -= entry_bytes(entry);
    view_unref(entry->view);
    buffer_fini(&entry->key);
    mem_free(entry);
}

/* Takes the job's key.  Without memory it is just not kept. */
static void
keep(struct view_cache *cache, struct view_job *job)
{
    struct entry *entry;

    if (job->view->bytes.capacity > VIEW_CACHE_VIEW_MAX)
        return;
    entry = mem_zalloc(1, sizeof(*entry));
    if (!entry)
        return;
    entry->key = job->key;
    memset(&job->key, 0, sizeof(job->key));
    entry->view = view_ref(job->view);
    entry->next = cache->entries;
    cache->entries = entry;
    cache->counts.views++;
    cache->counts.bytes += entry_bytes(entry);
    while (cache->counts.views > VIEW_CACHE_COUNT_MAX ||
           cache->counts.bytes > VIEW_CACHE_BYTES_MAX)
        drop_last(cache);
}

/* ---- jobs ---- */

static void
job_free(struct view_job *job)
{
    view_unref(job->view);
    snapshot_unref(job->request.snapshot);
    buffer_fini(&job->key);
    mem_free(job->name);
    mem_free(job->base);
    mem_free(job->focus);
    mem_free(job->ignore);
    mem_free(job);
}

static void
job_unref(struct view_job *job)
{
    if (--job->references == 0)
        job_free(job);
}

/* -1: no memory. */
static int
copy_text(char **copy, const char **text)
{
    if (!*text)
        return 0;
    *copy = mem_strdup(*text);
    *text = *copy;
    return *copy ? 0 : -1;
}

/* Takes the key, also on failure; a reference. */
static struct view_job *
job_new(const struct view_request *request, struct buffer *key,
        struct error *err)
{
    struct view_job *job = mem_zalloc(1, sizeof(*job));

    if (!job) {
        buffer_fini(key);
        error_memory(err, "a view");
        return NULL;
    }
    job->references = 1;
    job->key = *key;
    job->request = *request;
    if (request->snapshot)
        snapshot_ref(request->snapshot);
    job->keep = request->name != NULL;
    atomic_init(&job->cancelled, false);
    atomic_init(&job->stage, request->name   ? STAGE_LOADING
                             : request->base ? STAGE_COMPARING
                                             : STAGE_RENDERING);
    job->options = *request->options;
    job->options.cancelled = &job->cancelled;
    if (copy_text(&job->name, &job->request.name) == 0 &&
        copy_text(&job->base, &job->request.base) == 0 &&
        copy_text(&job->focus, &job->options.focus) == 0 &&
        copy_text(&job->ignore, &job->options.ignore) == 0)
        return job;
    job_free(job);
    error_memory(err, "a view");
    return NULL;
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
    cache->job_count--;
    job_unref(job);
}

static struct view_job *
find_job(struct view_cache *cache, const struct buffer *key)
{
    for (struct view_job *job = cache->jobs; job; job = job->next)
        if (same_key(&job->key, key))
            return job;
    return NULL;
}

/* ---- computing: without the lock ---- */

static int
check_cancelled(const struct view_job *job, struct error *err)
{
    if (!atomic_load(&job->cancelled))
        return 0;
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return -1;
}

static void
enter_stage(struct view_job *job, enum view_stage stage)
{
    atomic_store_explicit(&job->stage, stage, memory_order_relaxed);
}

static int export(const struct snapshot *snapshot, struct buffer *out,
                  struct error *err)
{
    (void)snapshot;
    (void)out;
    error_set(err, ER_NOT_SUPPORTED, "snapshots cannot be exported yet");
    return -1;
}

static int
render(struct view_job *job, const struct snapshot *snapshot,
       const struct profile *profile, struct buffer *out, struct error *err)
{
    const struct view_form *form = job->request.form;

    enter_stage(job, STAGE_RENDERING);
    if (check_cancelled(job, err) != 0)
        return -1;
    if (!form)
        return export(snapshot, out, err);
    return form->render(profile, &job->options, out, err);
}

/* now less base, as one profile. */
static struct profile *
compare(struct view_job *job, const struct snapshot *now,
        const struct snapshot *base, struct error *err)
{
    enter_stage(job, STAGE_COMPARING);
    if (check_cancelled(job, err) != 0)
        return NULL;
    if (!job->request.force && snapshot_comparable(now, base, err) != 0)
        return NULL;
    error_set(err, ER_NOT_SUPPORTED, "differences cannot be had yet");
    return NULL;
}

static int
compute(struct view_cache *cache, struct view_job *job, struct buffer *out,
        struct error *err)
{
    const struct view_request *request = &job->request;
    struct snapshot *now = NULL, *base = NULL;
    struct profile *difference = NULL;
    int rc = -1;

    now = request->name ? store_get(controller_store(cache->controller),
                                    request->name, err)
                        : snapshot_ref(request->snapshot);
    if (!now)
        goto out;
    if (request->base) {
        base =
            store_get(controller_store(cache->controller), request->base, err);
        difference = base ? compare(job, now, base, err) : NULL;
        if (!difference)
            goto out;
    }
    rc = render(job, now, difference ? difference : now->profile, out, err);
out:
    profile_free(difference);
    snapshot_unref(base);
    snapshot_unref(now);
    return rc;
}

static void
run_job(struct view_cache *cache, struct view_job *job)
{
    struct view *view = view_new();
    int rc = -1;

    if (view)
        rc = compute(cache, job, &view->bytes, &job->error);
    else
        error_memory(&job->error, "a view");
    if (rc == 0 && view->bytes.failed) {
        error_set(&job->error, ER_OUT_OF_MEMORY,
                  "the view is larger than %d bytes, or memory ran out",
                  VIEW_BYTES_MAX);
        rc = -1;
    }
    if (rc == 0) {
        job->view = view;
        return;
    }
    view_unref(view);
    job->failed = true;
}

/* With the lock. */
static void
finish(struct view_cache *cache, struct view_job *job)
{
    job->finished = true;
    remove_job(cache, job);
    cache->counts.rendered += !job->failed;
    if (!job->failed && job->keep)
        keep(cache, job);
    for (struct view_ticket *t = job->tickets; t; t = t->next)
        t->waker.wake(t->waker.arg);
}

static struct view_job *
next_job(struct view_cache *cache)
{
    for (struct view_job *job = cache->jobs; job; job = job->next)
        if (!job->running)
            return job;
    return NULL;
}

/* With the lock, which it gives up meanwhile. */
static void
work(struct view_cache *cache, struct view_job *job)
{
    job->running = true;
    job->references++;
    pthread_mutex_unlock(&cache->lock);
    run_job(cache, job);
    pthread_mutex_lock(&cache->lock);
    finish(cache, job);
    job_unref(job);
}

static void *
thread_main(void *arg)
{
    struct view_cache *cache = arg;
    struct view_job *job;

    pthread_mutex_lock(&cache->lock);
    while (!cache->stop) {
        job = next_job(cache);
        if (job)
            work(cache, job);
        else
            pthread_cond_wait(&cache->work, &cache->lock);
    }
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

/* ---- tickets ---- */

static void
attach(struct view_cache *cache, struct view_ticket *ticket,
       struct view_job *job)
{
    ticket->job = job;
    ticket->next = job->tickets;
    job->tickets = ticket;
    job->references++;
    if (cache->thread_count > 0)
        pthread_cond_signal(&cache->work);
}

/* Takes the key, also on failure. */
static struct view_job *
add_job(struct view_cache *cache, const struct view_request *request,
        struct buffer *key, struct error *err)
{
    struct view_job **end = &cache->jobs, *job;

    if (cache->job_count >= VIEW_JOBS_MAX) {
        buffer_fini(key);
        error_set(err, ER_UNKNOWN,
                  "%d views wait to be rendered already; try again later",
                  VIEW_JOBS_MAX);
        return NULL;
    }
    job = job_new(request, key, err);
    if (!job)
        return NULL;
    while (*end)
        end = &(*end)->next;
    *end = job;
    cache->job_count++;
    return job;
}

/* With the lock.  Takes the key. */
static int
answer(struct view_cache *cache, struct view_ticket *ticket,
       const struct view_request *request, struct buffer *key,
       struct error *err)
{
    struct view *kept = request->name ? find_kept(cache, key) : NULL;
    struct view_job *job = kept ? NULL : find_job(cache, key);

    if (kept) {
        ticket->view = view_ref(kept);
        cache->counts.cached++;
        buffer_fini(key);
        return 0;
    }
    if (job) {
        cache->counts.shared++;
        buffer_fini(key);
    } else {
        job = add_job(cache, request, key, err);
    }
    if (!job)
        return -1;
    attach(cache, ticket, job);
    if (cache->thread_count == 0)
        work(cache, job);
    return 0;
}

struct view_ticket *
view_cache_submit(struct view_cache *cache, const struct view_request *request,
                  struct waker waker, struct error *err)
{
    struct view_ticket *ticket = mem_zalloc(1, sizeof(*ticket));
    struct buffer key;
    int rc;

    if (!ticket) {
        error_memory(err, "a view");
        return NULL;
    }
    buffer_init(&key, KEY_MAX);
    if (make_key(cache, request, &key, err) != 0) {
        buffer_fini(&key);
        mem_free(ticket);
        return NULL;
    }
    ticket->cache = cache;
    ticket->waker = waker;
    pthread_mutex_lock(&cache->lock);
    rc = answer(cache, ticket, request, &key, err);
    pthread_mutex_unlock(&cache->lock);
    if (rc == 0)
        return ticket;
    mem_free(ticket);
    return NULL;
}

enum ticket_state
view_ticket_poll(struct view_ticket *ticket, struct view **out,
                 struct error *err)
{
    struct view_cache *cache = ticket->cache;
    struct view_job *job = ticket->job;
    enum ticket_state state = TICKET_WAITING;

    if (!job) {
        *out = view_ref(ticket->view);
        return TICKET_DONE;
    }
    pthread_mutex_lock(&cache->lock);
    if (job->finished && job->failed) {
        *err = job->error;
        state = TICKET_FAILED;
    } else if (job->finished) {
        *out = view_ref(job->view);
        state = TICKET_DONE;
    }
    pthread_mutex_unlock(&cache->lock);
    return state;
}

/* With the lock.  The last one to go cancels, and nobody joins then. */
static void
detach(struct view_cache *cache, struct view_ticket *ticket)
{
    struct view_job *job = ticket->job;
    struct view_ticket **at = &job->tickets;

    while (*at != ticket)
        at = &(*at)->next;
    *at = ticket->next;
    if (!job->tickets && !job->finished) {
        atomic_store(&job->cancelled, true);
        remove_job(cache, job);
    }
    job_unref(job);
}

void
view_ticket_free(struct view_ticket *ticket)
{
    if (!ticket)
        return;
    if (ticket->job) {
        pthread_mutex_lock(&ticket->cache->lock);
        detach(ticket->cache, ticket);
        pthread_mutex_unlock(&ticket->cache->lock);
    }
    view_unref(ticket->view);
    mem_free(ticket);
}

bool
view_ticket_progress(struct view_ticket *ticket, struct job_progress *out)
{
    static const char *const texts[] = {
        [STAGE_LOADING] = "Reading the snapshot",
        [STAGE_COMPARING] = "Comparing the snapshots",
        [STAGE_RENDERING] = "Rendering"};
    const struct view_job *job = ticket->job;
    enum view_stage stage;
    bool loads, compares, running;

    if (!job)
        return false;
    pthread_mutex_lock(&ticket->cache->lock);
    running = job->running;
    pthread_mutex_unlock(&ticket->cache->lock);
    stage = atomic_load_explicit(&job->stage, memory_order_relaxed);
    loads = job->request.name != NULL;
    compares = job->request.base != NULL;
    out->stages = 1u + loads + compares;
    out->stage = stage == STAGE_RENDERING   ? out->stages
                 : stage == STAGE_COMPARING ? 1u + loads
                                            : 1;
    out->percent = 0;
    out->text = running ? texts[stage] : "Waiting to be rendered";
    return true;
}

void
view_cache_count(struct view_cache *cache, struct view_counts *out)
{
    pthread_mutex_lock(&cache->lock);
    *out = cache->counts;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- start and stop ---- */

static int
start_thread(struct view_cache *cache, struct error *err)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&cache->threads[cache->thread_count], &attributes,
                        thread_main, cache);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (rc != 0) {
        errno = rc;
        error_sys(err, ER_UNKNOWN, "cannot start a thread that renders");
        return -1;
    }
    pthread_setname_np(cache->threads[cache->thread_count++], "hw-views");
    return 0;
}

struct view_cache *
view_cache_start(struct controller *controller, unsigned threads,
                 struct error *err)
{
    struct view_cache *cache = mem_zalloc(1, sizeof(*cache));

    if (!cache) {
        error_memory(err, "the cache of views");
        return NULL;
    }
    cache->controller = controller;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->work, NULL);
    while (cache->thread_count < threads && cache->thread_count < VIEW_THREADS)
        if (start_thread(cache, err) != 0) {
            view_cache_stop(cache);
            return NULL;
        }
    return cache;
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
    while (cache->entries)
        drop_last(cache);
    pthread_cond_destroy(&cache->work);
    pthread_mutex_destroy(&cache->lock);
    mem_free(cache);
}
