/*
 * view_cache.c - see view_cache.h.
 *
 * Rendering a large profile takes seconds and a view may have 64 MB, so a page
 * that several people open must not cost that each time.  A request becomes a
 * flight (flight.h) with a key: its snapshots' serial numbers, its form and
 * options.  Equal keys join one flight; finished views of kept snapshots stay
 * in a list by last use (512 views: a linear search is nothing beside
 * rendering).  Rendering runs on at most 8 threads, shared among users by
 * user_quota.h; the statement's worker thread waits meanwhile.
 */
#include "view_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "profile_root.h"
#include "user_quota.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "store.h"
#include "allocator.h"

enum { KEY_MAX = 64 * 1024 };

struct kept_view {
    struct kept_view *next;
    struct buffer key;
    struct view *view;
};

/* The last used view is the first. */
struct view_kept {
    struct kept_view *first;
    size_t count, bytes;
};

struct view_cache {
    struct flights flights; /* first; its lock guards what follows */
    struct view_kept kept;
    struct view_counts counts;
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct store *store;
};

enum view_stage { VIEW_LOADING, VIEW_COMPARING, VIEW_RENDERING };

struct view_flight {
    struct flight flight;        /* first */
    struct view_request request; /* its pointers lead to the copies below */
    struct view_options options;
    char *name, *base, *focus, *ignore;
    char wrappers[WRAPPERS_TEXT_BYTES];
    uint64_t serial, base_serial; /* of the snapshots, when requested */
    struct buffer key;            /* equal keys: equal views */
    bool lasting;                 /* of kept snapshots: its view may be, too */
    atomic_uint stage;            /* enum view_stage; relaxed */
    struct view *view;            /* NULL until it is rendered */
};

/* ---- finished views in memory ---- */

static bool
is_same_key(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static size_t
bytes_of(const struct kept_view *kept)
{
    return sizeof(*kept) + kept->key.capacity + kept->view->bytes.capacity;
}

/* Borrowed, or NULL.  Moves the view to the front. */
static struct view *
find_kept_view(struct view_kept *kept, const struct buffer *key)
{
    for (struct kept_view **at = &kept->first; *at; at = &(*at)->next) {
        struct kept_view *found = *at;

        if (!is_same_key(&found->key, key))
            continue;
        *at = found->next;
        found->next = kept->first;
        kept->first = found;
        return found->view;
    }
    return NULL;
}

static void
drop_last_kept(struct view_kept *kept)
{
    struct kept_view **at = &kept->first, *last;

    while ((*at)->next)
        at = &(*at)->next;
    last = *at;
    *at = NULL;
    kept->count--;
    kept->bytes -= bytes_of(last);
    view_unref(last->view);
    buffer_fini(&last->key);
    mem_free(last);
}

/* Takes key's contents and evicts what was used longest ago, memory
 * permitting. */
static void
add_kept_view(struct view_kept *kept, struct buffer *key, struct view *view)
{
    struct kept_view *new;

    if (view->bytes.capacity > VIEW_KEPT_VIEW_MAX)
        return;
    new = mem_zalloc(1, sizeof(*new));
    if (!new)
        return;
    new->key = *key;
    memset(key, 0, sizeof(*key));
    new->view = view_ref(view);
    new->next = kept->first;
    kept->first = new;
    kept->count++;
    kept->bytes += bytes_of(new);
    while (kept->count > VIEW_KEPT_COUNT_MAX ||
           kept->bytes > VIEW_KEPT_BYTES_MAX)
        drop_last_kept(kept);
}

/* ---- the key of a request ---- */

static void
make_view_key(struct view_flight *work)
{
    struct buffer *key = &work->key;

    buffer_init(key, KEY_MAX);
    buffer_u64(key, work->serial);
    buffer_u64(key, work->base_serial);
    buffer_u8(key, work->request.force);
    view_key(key, work->request.form, &work->options);
}

/* The serial number of the snapshot that now has this name. */
static int
find_snapshot_serial(struct store *store, const char *name, uint64_t *serial,
                     struct error *err)
{
    struct store_entry entry;

    if (store_find(store, name, &entry, err) != 0)
        return -1;
    *serial = entry.serial;
    return 0;
}

/* false: no memory. */
static bool
copy_request_text(char **copy, const char **text)
{
    if (!*text)
        return true;
    *copy = mem_strdup(*text);
    *text = *copy;
    return *copy != NULL;
}

static enum view_stage
first_stage(const struct view_request *request)
{
    return request->name                      ? VIEW_LOADING
           : request->base || request->before ? VIEW_COMPARING
                                              : VIEW_RENDERING;
}

/* ---- as a flight ---- */

/* Called between the steps of the work.  -1 with *err: it was cancelled. */
static int
enter_view_stage(struct view_flight *work, enum view_stage stage,
                 struct error *err)
{
    atomic_store_explicit(&work->stage, stage, memory_order_relaxed);
    if (!atomic_load(&work->flight.cancelled))
        return 0;
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return -1;
}

/* Another snapshot may have got the name since the request: it is shown, but it
 * is not the key's, so the view must not be kept. */
static struct snapshot *
load_view_snapshot(struct view_flight *work, struct store *store,
                   const char *name, uint64_t serial, struct error *err)
{
    struct snapshot *snapshot = NULL;

    if (enter_view_stage(work, VIEW_LOADING, err) == 0)
        snapshot = store_get(store, name, err);
    if (snapshot && snapshot->serial != serial)
        work->lasting = false;
    return snapshot;
}

/* Roots stacks at threads or pools if asked to: *out, to be freed, or NULL. */
static int
root_view(const struct view_flight *work, const struct profile *profile,
          struct profile **out, struct error *err)
{
    const struct view_form *form = work->request.form;

    *out = NULL;
    return form && form->takes_options
               ? profile_root(profile, &work->options, out, err)
               : 0;
}

/* now minus base, as one profile.  Stacks are rooted before: afterwards a
 * thread's growth could not be told from another's decrease. */
static struct profile *
compare_snapshots(struct view_flight *work, const struct snapshot *now,
                  const struct snapshot *base, struct error *err)
{
    struct profile *difference = NULL, *roots[2] = {NULL, NULL};

    if (enter_view_stage(work, VIEW_COMPARING, err) != 0 ||
        (!work->request.force && snapshot_comparable(now, base, err) != 0))
        return NULL;
    if (root_view(work, now->profile, &roots[0], err) == 0 &&
        root_view(work, base->profile, &roots[1], err) == 0)
        difference = diff_make_until(roots[0] ? roots[0] : now->profile,
                                     roots[1] ? roots[1] : base->profile,
                                     &work->flight.cancelled, err);
    profile_free(roots[0]);
    profile_free(roots[1]);
    return difference;
}

static int
render_view_form(struct view_flight *work, const struct snapshot *snapshot,
                 const struct profile *profile, struct buffer *out,
                 struct error *err)
{
    const struct view_form *form = work->request.form;

    if (enter_view_stage(work, VIEW_RENDERING, err) != 0)
        return -1;
    return form ? form->render(profile, &work->options, out, err)
                : snapshot_export(snapshot, work->options.wrappers, out, err);
}

static int
make_view_bytes(struct view_flight *work, struct store *store,
                struct buffer *out, struct error *err)
{
    const struct view_request *request = &work->request;
    struct snapshot *now = NULL, *base = NULL;
    struct profile *shown = NULL; /* NULL: the snapshot's profile is */
    int rc = -1;

    now = request->name ? load_view_snapshot(work, store, request->name,
                                             work->serial, err)
                        : snapshot_ref(request->snapshot);
    if (!now)
        goto out;
    if (request->base || request->before) {
        base = request->base ? load_view_snapshot(work, store, request->base,
                                                  work->base_serial, err)
                             : snapshot_ref(request->before);
        shown = base ? compare_snapshots(work, now, base, err) : NULL;
        if (!shown)
            goto out;
    } else if (root_view(work, now->profile, &shown, err) != 0) {
        goto out;
    }
    rc = render_view_form(work, now, shown ? shown : now->profile, out, err);
    if (rc == 0 && out->failed) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "the view is larger than %zu bytes, or memory ran out",
                  out->max);
        rc = -1;
    }
out:
    profile_free(shown);
    snapshot_unref(base);
    snapshot_unref(now);
    return rc;
}

static bool
on_view_flight_progress(struct flight *flight, struct progress *out)
{
    struct view_flight *work = (struct view_flight *)flight;
    static const char *const texts[] = {[VIEW_LOADING] = "Reading the snapshot",
                                        [VIEW_COMPARING] =
                                            "Comparing the snapshots",
                                        [VIEW_RENDERING] = "Rendering"};
    enum view_stage stage =
        atomic_load_explicit(&work->stage, memory_order_relaxed);
    const struct view_form *form = work->request.form;
    bool loads = work->request.name != NULL;

    out->stages = 1u + loads + (work->request.base || work->request.before);
    out->stage = stage == VIEW_RENDERING   ? out->stages
                 : stage == VIEW_COMPARING ? 1u + loads
                                           : 1;
    out->percent = 0;
    out->text = texts[stage];
    if (!flight->started)
        out->text = "Waiting to be rendered";
    else if (stage == VIEW_RENDERING && form && form->by_graphviz)
        out->text = "Drawing with graphviz";
    return true;
}

static void
on_view_flight_run(struct flight *flight)
{
    struct view_cache *cache = (struct view_cache *)flight->flights;
    struct view_flight *work = (struct view_flight *)flight;
    struct view *view = view_new(VIEW_BYTES_MAX);
    struct error err;
    int rc = -1;

    if (view)
        rc = make_view_bytes(work, cache->store, &view->bytes, &err);
    else
        error_memory(&err, "a view");
    if (rc == 0)
        view_finish(view);
    pthread_mutex_lock(&cache->flights.lock);
    if (rc == 0) {
        work->view = view_ref(view);
        cache->counts.rendered++;
        /* A cancelled flight and its successor may both finish.  add_kept_view
         * takes the key, so the flight leaves the list under the same lock. */
        if (work->lasting && !find_kept_view(&cache->kept, &work->key))
            add_kept_view(&cache->kept, &work->key, view);
    }
    flight_finish(flight, rc == 0 ? NULL : &err);
    pthread_mutex_unlock(&cache->flights.lock);
    view_unref(view);
}

static void
on_view_flight_free(struct flight *flight)
{
    struct view_flight *work = (struct view_flight *)flight;

    view_unref(work->view);
    snapshot_unref(work->request.snapshot);
    snapshot_unref(work->request.before);
    buffer_fini(&work->key);
    mem_free(work->name);
    mem_free(work->base);
    mem_free(work->focus);
    mem_free(work->ignore);
    mem_free(work);
}

static const struct flight_kind view_kind = {
    on_view_flight_run, on_view_flight_free, on_view_flight_progress,
    .cancels = true};

/* Users share the threads; cancelled flights still hold theirs. */
static struct flight *
next_view(struct flights *flights)
{
    for (struct flight *view = flights->first; view; view = view->next) {
        struct user_quota threads = {.user = view->owner};

        if (view->started)
            continue;
        for (struct flight *f = flights->first; f; f = f->next)
            if (f->started)
                user_quota_count(&threads, f->owner);
        if (user_quota_has_slot(&threads, flights->max))
            return view;
    }
    return NULL;
}

/* Is there room for another view? -1 with *err.  Clients that read slowly hold
 * their views: hence the limit of bytes. */
static int
check_view_quota(const struct view_cache *cache, const char *owner,
                 struct error *err)
{
    struct user_quota quota = {.user = owner};

    for (struct flight *f = cache->flights.first; f; f = f->next)
        if (!f->cancelled)
            user_quota_count(&quota, f->owner);
    if (user_quota_check(&quota, VIEW_JOBS_MAX, "views to be rendered",
                         "cancel some", err) != 0)
        return -1;
    if (view_bytes_alive() < VIEW_ALIVE_BYTES_MAX)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "Out of memory: the views that clients have not read to their "
              "end take %d MB; read or cancel them, or try again later",
              VIEW_ALIVE_BYTES_MAX >> 20);
    return -1;
}

/* ---- the node's wrappers ---- */

void
view_cache_set_wrappers(struct view_cache *cache, const char *list)
{
    pthread_mutex_lock(&cache->flights.lock);
    snprintf(cache->wrappers, sizeof(cache->wrappers), "%s", list);
    pthread_mutex_unlock(&cache->flights.lock);
}

void
view_cache_get_wrappers(struct view_cache *cache, char *out)
{
    pthread_mutex_lock(&cache->flights.lock);
    memcpy(out, cache->wrappers, sizeof(cache->wrappers));
    pthread_mutex_unlock(&cache->flights.lock);
}

/* ---- requests ---- */

static int
fill_view_flight(struct view_flight *work, struct view_cache *cache,
                 struct error *err)
{
    struct view_request *request = &work->request;
    struct view_options *options = &work->options;

    /* References are taken first and kept in work->request, so that
     * on_view_flight_free releases them after any failure. */
    if (request->snapshot)
        work->serial = snapshot_ref(request->snapshot)->serial;
    if (request->before)
        work->base_serial = snapshot_ref(request->before)->serial;
    if ((request->name && find_snapshot_serial(cache->store, request->name,
                                               &work->serial, err) != 0) ||
        (request->base && find_snapshot_serial(cache->store, request->base,
                                               &work->base_serial, err) != 0))
        return -1;
    *options = request->options ? *request->options : view_defaults;
    options->cancelled = &work->flight.cancelled;
    options->wrappers = work->wrappers;
    request->options = options;
    view_cache_get_wrappers(cache, work->wrappers);
    work->lasting = request->name != NULL;
    atomic_init(&work->stage, first_stage(request));
    if (copy_request_text(&work->name, &request->name) &&
        copy_request_text(&work->base, &request->base) &&
        copy_request_text(&work->focus, &options->focus) &&
        copy_request_text(&work->ignore, &options->ignore)) {
        make_view_key(work);
        if (!work->key.failed)
            return 0;
    }
    error_memory(err, "what a view is asked to show");
    return -1;
}

/* Copies the request and all its texts.  NULL with *err. */
static struct view_flight *
new_flight(struct view_cache *cache, const struct view_request *request,
           struct error *err)
{
    struct view_flight *work = mem_zalloc(1, sizeof(*work));

    if (!work) {
        error_memory(err, "a view");
        return NULL;
    }
    flight_init(&work->flight, &view_kind, &cache->flights, request->owner);
    work->request = *request;
    if (fill_view_flight(work, cache, err) == 0)
        return work;
    /* nobody has joined it: no lock is needed */
    on_view_flight_free(&work->flight);
    return NULL;
}

static struct flight *
find_flight(struct view_cache *cache, const struct buffer *key)
{
    for (struct flight *f = cache->flights.first; f; f = f->next)
        if (!f->cancelled && is_same_key(&((struct view_flight *)f)->key, key))
            return f;
    return NULL;
}

/* With the lock: takes the view from memory, joins an equal flight, or begins
 * the new one. */
static struct seat *
join_view_flight(struct view_cache *cache, struct view_flight *new,
                 struct waker waker, struct error *err)
{
    struct view *kept =
        new->lasting ? find_kept_view(&cache->kept, &new->key) : NULL;
    struct flight *same = find_flight(cache, &new->key);

    if (kept) {
        new->view = view_ref(kept);
        flight_finish(&new->flight, NULL);
        cache->counts.cached++;
    } else if (same) {
        cache->counts.shared++;
        return flight_join(same, waker, err);
    } else if (check_view_quota(cache, new->flight.owner, err) != 0) {
        return NULL;
    }
    return flight_join(&new->flight, waker, err);
}

struct seat *
view_cache_submit(struct view_cache *cache, const struct view_request *request,
                  struct waker waker, struct error *err)
{
    struct view_flight *work = new_flight(cache, request, err);
    struct seat *seat;

    if (!work)
        return NULL;
    pthread_mutex_lock(&cache->flights.lock);
    seat = join_view_flight(cache, work, waker, err);
    flight_unref(&work->flight);
    pthread_mutex_unlock(&cache->flights.lock);
    return seat;
}

enum flight_state
view_cache_poll(struct seat *seat, struct view **out, struct error *err)
{
    enum flight_state state = flight_poll(seat, err);

    if (state == FLIGHT_DONE) /* a finished flight no longer changes */
        *out = view_ref(((struct view_flight *)seat->flight)->view);
    return state;
}

struct view *
view_cache_get(struct view_cache *cache, const struct view_request *request,
               struct await *await, struct error *err)
{
    struct seat *seat =
        view_cache_submit(cache, request, await_waker(await), err);
    struct view *view = NULL;

    if (seat && flight_wait(seat, await, err) == 0)
        (void)view_cache_poll(seat, &view, err);
    flight_leave(seat);
    return view;
}

void
view_cache_count(struct view_cache *cache, struct view_counts *out)
{
    pthread_mutex_lock(&cache->flights.lock);
    *out = cache->counts;
    out->views = cache->kept.count;
    out->bytes = cache->kept.bytes;
    pthread_mutex_unlock(&cache->flights.lock);
}

/* ---- start and stop ---- */

struct view_cache *
view_cache_start(struct store *store, unsigned threads, struct error *err)
{
    struct view_cache *cache = mem_zalloc(1, sizeof(*cache));

    if (!cache) {
        error_memory(err, "the cache of views");
        return NULL;
    }
    cache->store = store;
    flights_init(&cache->flights, "hw-views",
                 threads < VIEW_THREADS ? threads : VIEW_THREADS, next_view);
    return cache;
}

void
view_cache_stop(struct view_cache *cache)
{
    if (!cache)
        return;
    flights_stop(&cache->flights);
    while (cache->kept.first)
        drop_last_kept(&cache->kept);
    mem_free(cache);
}
