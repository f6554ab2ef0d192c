/*
 * select_sources.c - the snapshots that a SELECT reads: finds them by name,
 * loads them on demand, and drops them to make room.
 *
 * A statement may name a thousand kept snapshots, each of megabytes when
 * loaded.  So at most SELECT_SNAPSHOTS_LOADED are in memory; the one used
 * longest ago that no table is reading is dropped, and loaded again if it is
 * asked for.  Its serial number tells whether it is still the same one: a
 * statement sees one state or fails.  One statement uses it, on its thread,
 * inside sqlite3_step(); loading and comparing leave the event loop.
 */
#include "select_sources.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "allocator.h"
#include "ascii.h"
#include "call_tree.h"
#include "cluster_ask.h"
#include "controller.h"
#include "diff.h"
#include "errors.h"
#include "fetch.h"
#include "function_views.h"
#include "functions.h"
#include "handle.h"
#include "headline.h"
#include "memory.h"
#include "observed_name.h"
#include "profile.h"
#include "sql_session.h"
#include "store.h"
#include "view_cache.h"
#include "view_options.h"

static struct store *
select_snapshot_store(const struct handle *handle)
{
    return controller_store(handle->fetch->controller);
}

/* ---- what is loaded ---- */

static void
unload_select_snapshot(struct select_sources *sources,
                       struct select_source *source)
{
    if (!source->snapshot)
        return;
    functions_free(source->functions);
    pool_rows_fini(&source->pools);
    functions_free(source->pool_functions);
    profile_free(source->by_pool);
    snapshot_unref(source->pool_sum);
    part_rows_fini(&source->parts);
    waste_rows_fini(&source->waste);
    call_rows_fini(&source->calls);
    call_tree_free(source->tree);
    profile_free(source->difference);
    snapshot_unref(source->snapshot);
    source->functions = source->pool_functions = NULL;
    source->by_pool = NULL;
    source->pool_sum = NULL;
    source->tree = NULL;
    source->profile = source->difference = NULL;
    source->snapshot = NULL;
    sources->loaded--;
    if (source->now_source) {
        source->now_source->readers--;
        source->base_source->readers--;
    }
}

void
select_sources_fini(struct select_sources *sources)
{
    /* A difference comes behind its two snapshots in the list and pins them. */
    for (size_t i = sources->count; i > 0; i--) {
        unload_select_snapshot(sources, sources->list[i - 1]);
        mem_free(sources->list[i - 1]);
    }
    unload_select_snapshot(sources, &sources->fresh);
    memset(sources, 0, sizeof(*sources));
}

/* Takes over the caller's reference. */
static void
attach_loaded_snapshot(struct select_sources *sources,
                       struct select_source *source, struct snapshot *snapshot,
                       const struct profile *profile)
{
    source->snapshot = snapshot;
    source->profile = profile;
    sources->loaded++;
}

static void
load_fresh_snapshot(struct handle *handle)
{
    struct select_sources *sources = handle->fetch->sources;
    struct snapshot *fresh = handle->scope.snapshot;

    if (sources->fresh.snapshot)
        return;
    sources->fresh.label = SNAPSHOT_NOW;
    attach_loaded_snapshot(sources, &sources->fresh, snapshot_ref(fresh),
                           fresh->profile);
}

/* Drops the snapshot that was used longest ago, if there is no room; it must
 * be one that can be loaded again, and that no table reads.  One place stays
 * free for the fresh one. */
static int
evict_unused_snapshot(struct handle *handle)
{
    struct select_sources *sources = handle->fetch->sources;
    struct select_source *oldest = NULL;

    if (sources->loaded < SELECT_SNAPSHOTS_LOADED - 1)
        return SQLITE_OK;
    for (size_t i = 0; i < sources->count; i++) {
        struct select_source *source = sources->list[i];

        if (source->snapshot && source->readers == 0 &&
            (source->serial || source->now_source) &&
            (!oldest || source->used < oldest->used))
            oldest = source;
    }
    if (oldest) {
        unload_select_snapshot(sources, oldest);
        return SQLITE_OK;
    }
    error_set(&handle->failure, ER_NOT_SUPPORTED,
              "a SELECT reads at most %d snapshots and differences at once",
              SELECT_SNAPSHOTS_LOADED - 1);
    return SQLITE_ERROR;
}

/* ---- names ---- */

static bool
same_name(const char *a, const char *b)
{
    return a && b ? strcasecmp(a, b) == 0 : a == b;
}

static struct select_source *
find_select_snapshot(struct select_sources *sources, const char *label,
                     const char *base)
{
    if (sources->fresh.snapshot && !base && same_name(label, SNAPSHOT_NOW))
        return &sources->fresh;
    for (size_t i = 0; i < sources->count; i++)
        if (same_name(sources->list[i]->label, label) &&
            same_name(sources->list[i]->base, base))
            return sources->list[i];
    return NULL;
}

static struct select_source *
add_select_snapshot(struct handle *handle, const char *label, const char *base)
{
    struct select_sources *sources = handle->fetch->sources;
    struct select_source *source;

    if (sources->count == SELECT_SNAPSHOTS_MAX) {
        error_set(&handle->failure, ER_NOT_SUPPORTED,
                  "a SELECT reads at most %d snapshots and differences",
                  SELECT_SNAPSHOTS_MAX);
        return NULL;
    }
    source = mem_zalloc(1, sizeof(*source));
    if (!source) {
        error_memory(&handle->failure, "a SELECT");
        return NULL;
    }
    source->label = label;
    source->base = base;
    sources->list[sources->count++] = source;
    source->number = sources->count;
    return source;
}

/* Adds a kept snapshot. alias: the name that the statement used for it. */
static struct select_source *
add_stored_snapshot(struct handle *handle, const struct store_entry *entry,
                    const char *alias)
{
    struct select_source *source = add_select_snapshot(handle, NULL, NULL);

    if (!source)
        return NULL;
    memcpy(source->name, entry->name, sizeof(source->name));
    memcpy(source->alias, alias, strnlen(alias, SNAPSHOT_NAME_MAX));
    source->label = source->alias;
    source->serial = entry->serial;
    source->observed = entry->kind != PROFILE_HEAP;
    return source;
}

static struct select_source *
find_stored_snapshot(struct handle *handle, const char *name)
{
    char lower[SNAPSHOT_NAME_MAX + 2]; /* longer than any name */
    struct store_entry entry;
    size_t i = 0;

    for (; name[i] && i < sizeof(lower) - 1; i++)
        lower[i] = to_lower(name[i]);
    lower[i] = '\0';
    if (store_find(select_snapshot_store(handle), lower, &entry,
                   &handle->failure) != 0)
        return NULL;
    return add_stored_snapshot(handle, &entry, lower);
}

/* ---- what they name ---- */

static int
load_kept_snapshot(struct handle *handle, struct select_source *source)
{
    struct snapshot *snapshot;

    if (evict_unused_snapshot(handle) != SQLITE_OK)
        return SQLITE_ERROR;
    if (handle_compute(handle))
        return SQLITE_INTERRUPT;
    snapshot = store_get(select_snapshot_store(handle), source->name,
                         &handle->failure);
    if (!snapshot)
        return SQLITE_ERROR;
    if (snapshot->serial != source->serial) {
        snapshot_unref(snapshot);
        error_set(&handle->failure, ER_UNKNOWN,
                  "the snapshot '%s' was deleted, and another one kept by that "
                  "name, while this statement was reading",
                  source->name);
        return SQLITE_ERROR;
    }
    attach_loaded_snapshot(handle->fetch->sources, source, snapshot,
                           snapshot->profile);
    return SQLITE_OK;
}

/* Finds or asks for the sum of nodes' snapshots, or how much it grew. */
static int
open_cluster_source(struct handle *handle, const char *name, const char *base,
                    struct select_source **out)
{
    struct select_source *source =
        find_select_snapshot(handle->fetch->sources, name, base);
    struct cluster_sum sum;
    int rc;

    *out = source;
    if (source)
        return SQLITE_OK;
    rc = evict_unused_snapshot(handle);
    if (rc == SQLITE_OK)
        rc = cluster_heap_need(handle, name, base, false, NULL, &sum);
    if (rc != SQLITE_OK)
        return rc;
    *out = source = add_select_snapshot(handle, sum.name, sum.base);
    if (!source)
        return SQLITE_ERROR;
    attach_loaded_snapshot(handle->fetch->sources, source,
                           snapshot_ref(sum.snapshot), sum.snapshot->profile);
    return SQLITE_OK;
}

/* Finds or takes a profile that is sampled for the statement. */
static int
open_observed_source(struct handle *handle, const char *name,
                     struct select_source **out)
{
    struct select_source *source =
        find_select_snapshot(handle->fetch->sources, name, NULL);
    struct snapshot *snapshot;
    int rc;

    *out = source;
    if (source)
        return SQLITE_OK;
    rc = evict_unused_snapshot(handle);
    if (rc == SQLITE_OK)
        rc = observed_need(handle, name, &snapshot);
    if (rc != SQLITE_OK)
        return rc;
    *out = source = add_select_snapshot(handle, NULL, NULL);
    if (!source)
        return SQLITE_ERROR;
    snprintf(source->alias, sizeof(source->alias), "%s", name);
    source->label = source->alias;
    attach_loaded_snapshot(handle->fetch->sources, source,
                           snapshot_ref(snapshot), snapshot->profile);
    return SQLITE_OK;
}

static int
open_single_source(struct handle *handle, const char *name,
                   struct select_source **out)
{
    struct select_source *source;

    if (observed_name_is(name))
        return open_observed_source(handle, name, out);
    if (strcasecmp(name, SNAPSHOT_NOW) == 0) {
        int rc = fetch_needs(handle, NEED_SNAPSHOT);

        if (rc != SQLITE_OK)
            return rc;
        load_fresh_snapshot(handle);
    }
    source = find_select_snapshot(handle->fetch->sources, name, NULL);
    if (!source)
        source = find_stored_snapshot(handle, name);
    *out = source;
    if (!source)
        return SQLITE_ERROR;
    return source->snapshot ? SQLITE_OK : load_kept_snapshot(handle, source);
}

/* Replaces the advice in the error: a table has no option 'force'. */
static void
advise_forced_difference(struct error *failure)
{
    struct error why = *failure;
    char *advice = strchr(why.text, ';');

    if (!advice)
        return;
    *advice = '\0';
    error_set(failure, why.code,
              "%s; SELECT top(snapshot, base, 'force') compares them "
              "nevertheless, and heap_diff does not",
              why.text);
}

/* Computes what now has more than base; both are loaded. */
static int
compute_snapshot_difference(struct handle *handle, struct select_source *source)
{
    const struct snapshot *now = source->now_source->snapshot;
    const struct snapshot *base = source->base_source->snapshot;

    if (evict_unused_snapshot(handle) != SQLITE_OK)
        return SQLITE_ERROR;
    if (snapshot_comparable(now, base, &handle->failure) != 0) {
        advise_forced_difference(&handle->failure);
        return SQLITE_ERROR;
    }
    if (handle_compute(handle))
        return SQLITE_INTERRUPT;
    source->difference =
        diff_make_until(now->profile, base->profile, handle->memory.cancelled,
                        &handle->failure);
    if (!source->difference)
        return SQLITE_ERROR;
    attach_loaded_snapshot(handle->fetch->sources, source,
                           snapshot_ref(source->now_source->snapshot),
                           source->difference);
    return SQLITE_OK;
}

/* Finds or makes a difference; both of its snapshots stay in memory as long as
 * it does. */
static int
open_difference_source(struct handle *handle, const char *name,
                       const char *base_name, struct select_source **out)
{
    struct select_source *source =
        find_select_snapshot(handle->fetch->sources, name, base_name);
    struct select_source *now = NULL, *base = NULL;
    int rc;

    *out = source;
    if (source && source->snapshot)
        return SQLITE_OK;
    rc = open_single_source(handle, base_name, &base);
    if (rc != SQLITE_OK)
        return rc;
    /* Pinned before the other is loaded, which may drop unused ones. */
    base->readers++;
    rc = open_single_source(handle, name, &now);
    if (rc != SQLITE_OK) {
        base->readers--;
        return rc;
    }
    now->readers++;
    if (!source)
        *out = source = add_select_snapshot(handle, now->label, base->label);
    rc = SQLITE_ERROR;
    if (source) {
        source->now_source = now;
        source->base_source = base;
        rc = compute_snapshot_difference(handle, source);
    }
    if (rc != SQLITE_OK) {
        now->readers--;
        base->readers--;
    }
    return rc;
}

/* ---- for tables ---- */

/* Warns once why a snapshot has no rows. */
static void
warn_empty_snapshot(struct handle *handle, struct select_source *source)
{
    static const struct view_options plain;
    char why[EMPTINESS_TEXT];

    if (source->warned || source->difference || source->profile->samples > 0 ||
        source->profile->accumulated)
        return;
    warnings_add(handle->session, ER_UNKNOWN, "snapshot '%s': %s",
                 source->label,
                 emptiness_text(source->profile, &plain, true, why));
    source->warned = true;
}

struct view_options
select_source_options(const struct handle *handle, char *wrappers)
{
    struct view_options options = view_defaults;

    *wrappers = '\0';
    if (handle->fetch->views->cache)
        view_cache_get_wrappers(handle->fetch->views->cache, wrappers);
    options.wrappers = wrappers;
    options.cancelled = handle->memory.cancelled;
    return options;
}

static struct functions *
make_functions(struct handle *handle, const struct select_source *source)
{
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct view_options options = select_source_options(handle, wrappers);

    return functions_new(source->profile, &options, &handle->failure);
}

int
select_source_calls(struct handle *handle, struct select_source *source)
{
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct view_options options = select_source_options(handle, wrappers);

    if (!source->tree && handle_compute(handle))
        return SQLITE_INTERRUPT;
    if (!source->tree)
        source->tree = call_tree_new(source->profile, &options, CALL_TREE_SHORT,
                                     CALL_TREE_BY_NAME, &handle->failure);
    if (source->tree &&
        (source->calls.list || call_rows_init(&source->calls, source->tree,
                                              &options, &handle->failure) == 0))
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

int
select_source_pin(struct handle *handle, const char *name, const char *base,
                  struct select_source **out)
{
    struct select_source *source = NULL;
    bool cluster;
    int rc;

    if (!handle->fetch)
        return fetch_refuse(handle);
    cluster =
        (name && cluster_name_is(name)) || (base && cluster_name_is(base));
    if (!name)
        name = SNAPSHOT_NOW;
    if (cluster)
        rc = open_cluster_source(handle, name, base, &source);
    else
        rc = base ? open_difference_source(handle, name, base, &source)
                  : open_single_source(handle, name, &source);
    if (rc == SQLITE_OK && !source->functions) {
        if (handle_compute(handle))
            return SQLITE_INTERRUPT;
        source->functions = make_functions(handle, source);
        rc = source->functions ? SQLITE_OK : SQLITE_ERROR;
    }
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    if (rc != SQLITE_OK)
        return rc;
    warn_empty_snapshot(handle, source);
    /* The caller's pin; heap_walk.c releases it. */
    source->readers++;
    source->used = ++handle->fetch->sources->uses;
    *out = source;
    return SQLITE_OK;
}

/* Lists all snapshots that are kept now. */
static int
list_stored_snapshots(struct handle *handle)
{
    struct select_sources *sources = handle->fetch->sources;
    struct store_entry *entries;
    size_t count;
    int rc = SQLITE_OK;

    if (sources->listed)
        return SQLITE_OK;
    entries = mem_zalloc(STORE_COUNT_MAX, sizeof(*entries));
    if (!entries)
        return SQLITE_NOMEM;
    count = store_list(select_snapshot_store(handle), entries, STORE_COUNT_MAX);
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        if (!find_select_snapshot(sources, entries[i].name, NULL) &&
            !add_stored_snapshot(handle, &entries[i], entries[i].name))
            rc = SQLITE_ERROR;
    mem_free(entries);
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    /* From now on all tables see the same snapshots. */
    sources->listed = rc == SQLITE_OK;
    return rc;
}

/* Is the alias the snapshot's own name and no short form of it?  Otherwise the
 * list would have it twice. */
static bool
is_full_snapshot_name(const struct select_source *source)
{
    return source->serial && strcmp(source->name, source->alias) == 0;
}

static bool
is_fatal(const struct error *failure)
{
    return failure->code == ER_OUT_OF_MEMORY ||
           failure->code == ER_QUERY_INTERRUPTED;
}

/* Begins a walk over all kept snapshots.  It checks the base first, since a
 * fault of the base would fail every comparison. */
static int
begin_list(struct handle *handle, const char *base)
{
    struct select_source *compared;
    int rc = list_stored_snapshots(handle);

    if (rc == SQLITE_OK && base)
        rc = open_single_source(handle, base, &compared);
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    return rc;
}

/* Warns once of a snapshot that cannot be read; a join may read it again. */
static void
warn_of_skipped_snapshot(struct handle *handle, struct select_source *source)
{
    if (!source->warned)
        warnings_add(handle->session, handle->failure.code, "%s",
                     handle->failure.text);
    source->warned = true;
    handle->failed = false;
}

int
select_source_next(struct handle *handle, size_t *at, const char *base,
                   bool observed, struct select_source **out)
{
    struct select_sources *sources;
    int rc;

    *out = NULL;
    if (!handle->fetch || (base && cluster_name_is(base)))
        return select_source_pin(handle, NULL, base, out); /* sets the reason */
    sources = handle->fetch->sources;
    rc = *at == 0 ? begin_list(handle, base) : SQLITE_OK;
    while (rc == SQLITE_OK && *at <= sources->count) {
        size_t number = (*at)++;
        struct select_source *source =
            number ? sources->list[number - 1] : &sources->fresh;
        bool listed = number == 0 ? !observed && handle->names_now
                                  : is_full_snapshot_name(source) &&
                                        source->observed == observed;

        if (handle_is_cancelled(handle))
            return SQLITE_INTERRUPT;
        if (!listed)
            continue;
        rc =
            select_source_pin(handle, number ? source->label : NULL, base, out);
        if (rc != SQLITE_ERROR || is_fatal(&handle->failure))
            return rc;
        warn_of_skipped_snapshot(handle, source);
        rc = SQLITE_OK;
    }
    return rc;
}
