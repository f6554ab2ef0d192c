/* select_pins.c - see select_pins.h. */
#include "select_pins.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "allocator.h"
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

/* ---- what is held ---- */

static void
unload_select_snapshot(struct select_pins *pins, struct select_pin *pin)
{
    if (!pin->snapshot)
        return;
    functions_free(pin->functions);
    pool_rows_fini(&pin->pools);
    functions_free(pin->pool_functions);
    profile_free(pin->by_pool);
    snapshot_unref(pin->pool_sum);
    part_rows_fini(&pin->parts);
    waste_rows_fini(&pin->waste);
    call_rows_fini(&pin->calls);
    call_tree_free(pin->tree);
    profile_free(pin->difference);
    snapshot_unref(pin->snapshot);
    pin->functions = pin->pool_functions = NULL;
    pin->by_pool = NULL;
    pin->pool_sum = NULL;
    pin->tree = NULL;
    pin->profile = pin->difference = NULL;
    pin->snapshot = NULL;
    pins->held--;
    if (pin->of) {
        pin->of->readers--;
        pin->since->readers--;
    }
}

void
select_pins_end(struct select_pins *pins)
{
    /* free a difference before its two snapshots */
    for (size_t i = pins->count; i > 0; i--) {
        unload_select_snapshot(pins, pins->list[i - 1]);
        mem_free(pins->list[i - 1]);
    }
    unload_select_snapshot(pins, &pins->fresh);
    memset(pins, 0, sizeof(*pins));
}

/* Takes the snapshot. */
static void
attach_loaded_snapshot(struct select_pins *pins, struct select_pin *pin,
                       struct snapshot *snapshot, const struct profile *profile)
{
    pin->snapshot = snapshot;
    pin->profile = profile;
    pins->held++;
}

static void
take_fresh(struct handle *handle)
{
    struct select_pins *pins = handle->fetch->pins;
    struct snapshot *fresh = handle->scope.snapshot;

    if (pins->fresh.snapshot)
        return;
    pins->fresh.label = SNAPSHOT_NOW;
    attach_loaded_snapshot(pins, &pins->fresh, snapshot_ref(fresh),
                           fresh->profile);
}

/* Drops the snapshot that was used longest ago and can be loaded again; the
 * fresh one must still find room. */
static int
evict_unused_snapshot(struct handle *handle)
{
    struct select_pins *pins = handle->fetch->pins;
    struct select_pin *oldest = NULL;

    if (pins->held < SELECT_SNAPSHOTS_HELD - 1)
        return SQLITE_OK;
    for (size_t i = 0; i < pins->count; i++) {
        struct select_pin *pin = pins->list[i];

        if (pin->snapshot && pin->readers == 0 && (pin->serial || pin->of) &&
            (!oldest || pin->used < oldest->used))
            oldest = pin;
    }
    if (oldest) {
        unload_select_snapshot(pins, oldest);
        return SQLITE_OK;
    }
    error_set(&handle->failure, ER_NOT_SUPPORTED,
              "a SELECT reads at most %d snapshots and differences at once",
              SELECT_SNAPSHOTS_HELD - 1);
    return SQLITE_ERROR;
}

/* ---- names ---- */

static bool
same_name(const char *a, const char *b)
{
    return a && b ? strcasecmp(a, b) == 0 : a == b;
}

static struct select_pin *
find_select_snapshot(struct select_pins *pins, const char *label,
                     const char *base)
{
    if (pins->fresh.snapshot && !base && same_name(label, SNAPSHOT_NOW))
        return &pins->fresh;
    for (size_t i = 0; i < pins->count; i++)
        if (same_name(pins->list[i]->label, label) &&
            same_name(pins->list[i]->base, base))
            return pins->list[i];
    return NULL;
}

static struct select_pin *
add_select_snapshot(struct handle *handle, const char *label, const char *base)
{
    struct select_pins *pins = handle->fetch->pins;
    struct select_pin *pin;

    if (pins->count == SELECT_SNAPSHOTS_MAX) {
        error_set(&handle->failure, ER_NOT_SUPPORTED,
                  "a SELECT reads at most %d snapshots and differences",
                  SELECT_SNAPSHOTS_MAX);
        return NULL;
    }
    pin = mem_zalloc(1, sizeof(*pin));
    if (!pin) {
        error_memory(&handle->failure, "a SELECT");
        return NULL;
    }
    pin->label = label;
    pin->base = base;
    pins->list[pins->count++] = pin;
    pin->number = pins->count;
    return pin;
}

/* alias: the name that the statement used for entry. */
static struct select_pin *
add_stored_snapshot(struct handle *handle, const struct store_entry *entry,
                    const char *alias)
{
    struct select_pin *pin = add_select_snapshot(handle, NULL, NULL);

    if (!pin)
        return NULL;
    memcpy(pin->name, entry->name, sizeof(pin->name));
    memcpy(pin->alias, alias, strnlen(alias, SNAPSHOT_NAME_MAX));
    pin->label = pin->alias;
    pin->serial = entry->serial;
    pin->observed = entry->kind != PROFILE_HEAP;
    return pin;
}

static struct select_pin *
find_stored_snapshot(struct handle *handle, const char *name)
{
    char lower[SNAPSHOT_NAME_MAX + 2]; /* longer than any name */
    struct store_entry entry;
    size_t i = 0;

    for (; name[i] && i < sizeof(lower) - 1; i++)
        lower[i] =
            (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    lower[i] = '\0';
    if (store_find(select_snapshot_store(handle), lower, &entry,
                   &handle->failure) != 0)
        return NULL;
    return add_stored_snapshot(handle, &entry, lower);
}

/* ---- what they name ---- */

static int
read_kept(struct handle *handle, struct select_pin *pin)
{
    struct snapshot *snapshot;

    if (evict_unused_snapshot(handle) != SQLITE_OK)
        return SQLITE_ERROR;
    if (handle_compute(handle))
        return SQLITE_INTERRUPT;
    snapshot =
        store_get(select_snapshot_store(handle), pin->name, &handle->failure);
    if (!snapshot)
        return SQLITE_ERROR;
    if (snapshot->serial != pin->serial) {
        snapshot_unref(snapshot);
        error_set(&handle->failure, ER_UNKNOWN,
                  "the snapshot '%s' was deleted, and another one kept by that "
                  "name, while this statement was reading",
                  pin->name);
        return SQLITE_ERROR;
    }
    attach_loaded_snapshot(handle->fetch->pins, pin, snapshot,
                           snapshot->profile);
    return SQLITE_OK;
}

/* The sum of nodes, or how much it grew. */
static int
pin_cluster(struct handle *handle, const char *name, const char *base,
            struct select_pin **out)
{
    struct select_pin *pin =
        find_select_snapshot(handle->fetch->pins, name, base);
    struct cluster_sum sum;
    int rc;

    *out = pin;
    if (pin)
        return SQLITE_OK;
    rc = evict_unused_snapshot(handle);
    if (rc == SQLITE_OK)
        rc = cluster_heap_need(handle, name, base, false, NULL, &sum);
    if (rc != SQLITE_OK)
        return rc;
    *out = pin = add_select_snapshot(handle, sum.name, sum.base);
    if (!pin)
        return SQLITE_ERROR;
    attach_loaded_snapshot(handle->fetch->pins, pin, snapshot_ref(sum.snapshot),
                           sum.snapshot->profile);
    return SQLITE_OK;
}

/* A profile that is taken for the statement. */
static int
pin_observed(struct handle *handle, const char *name, struct select_pin **out)
{
    struct select_pin *pin =
        find_select_snapshot(handle->fetch->pins, name, NULL);
    struct snapshot *snapshot;
    int rc;

    *out = pin;
    if (pin)
        return SQLITE_OK;
    rc = evict_unused_snapshot(handle);
    if (rc == SQLITE_OK)
        rc = observed_need(handle, name, &snapshot);
    if (rc != SQLITE_OK)
        return rc;
    *out = pin = add_select_snapshot(handle, NULL, NULL);
    if (!pin)
        return SQLITE_ERROR;
    snprintf(pin->alias, sizeof(pin->alias), "%s", name);
    pin->label = pin->alias;
    attach_loaded_snapshot(handle->fetch->pins, pin, snapshot_ref(snapshot),
                           snapshot->profile);
    return SQLITE_OK;
}

static int
pin_one(struct handle *handle, const char *name, struct select_pin **out)
{
    struct select_pin *pin;

    if (observed_name_is(name))
        return pin_observed(handle, name, out);
    if (strcasecmp(name, SNAPSHOT_NOW) == 0) {
        int rc = fetch_needs(handle, NEED_SNAPSHOT);

        if (rc != SQLITE_OK)
            return rc;
        take_fresh(handle);
    }
    pin = find_select_snapshot(handle->fetch->pins, name, NULL);
    if (!pin)
        pin = find_stored_snapshot(handle, name);
    *out = pin;
    if (!pin)
        return SQLITE_ERROR;
    return pin->snapshot ? SQLITE_OK : read_kept(handle, pin);
}

/* A table has no option 'force'; profiles of two kinds have no advice. */
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
compute_snapshot_difference(struct handle *handle, struct select_pin *pin)
{
    const struct snapshot *now = pin->of->snapshot;
    const struct snapshot *base = pin->since->snapshot;

    if (evict_unused_snapshot(handle) != SQLITE_OK)
        return SQLITE_ERROR;
    if (snapshot_comparable(now, base, &handle->failure) != 0) {
        advise_forced_difference(&handle->failure);
        return SQLITE_ERROR;
    }
    if (handle_compute(handle))
        return SQLITE_INTERRUPT;
    pin->difference = diff_make_until(now->profile, base->profile,
                                      handle->cancelled, &handle->failure);
    if (!pin->difference)
        return SQLITE_ERROR;
    attach_loaded_snapshot(handle->fetch->pins, pin,
                           snapshot_ref(pin->of->snapshot), pin->difference);
    return SQLITE_OK;
}

/* Keeps both snapshots of a difference as long as the difference. */
static int
pin_difference(struct handle *handle, const char *name, const char *base_name,
               struct select_pin **out)
{
    struct select_pin *pin =
        find_select_snapshot(handle->fetch->pins, name, base_name);
    struct select_pin *now = NULL, *base = NULL;
    int rc;

    *out = pin;
    if (pin && pin->snapshot)
        return SQLITE_OK;
    rc = pin_one(handle, base_name, &base);
    if (rc != SQLITE_OK)
        return rc;
    base->readers++;
    rc = pin_one(handle, name, &now);
    if (rc != SQLITE_OK) {
        base->readers--;
        return rc;
    }
    now->readers++;
    if (!pin)
        *out = pin = add_select_snapshot(handle, now->label, base->label);
    rc = SQLITE_ERROR;
    if (pin) {
        pin->of = now;
        pin->since = base;
        rc = compute_snapshot_difference(handle, pin);
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
tell_empty(struct handle *handle, struct select_pin *pin)
{
    static const struct view_options plain;
    char why[EMPTINESS_TEXT];

    if (pin->warned || pin->difference || pin->profile->samples > 0 ||
        pin->profile->accumulated || !handle->session)
        return;
    warnings_add(handle->session, ER_UNKNOWN, "snapshot '%s': %s", pin->label,
                 emptiness_text(pin->profile, &plain, true, why));
    pin->warned = true;
}

struct view_options
select_pin_options(const struct handle *handle, char *wrappers)
{
    struct view_options options = view_defaults;

    *wrappers = '\0';
    if (handle->fetch->views->cache)
        view_cache_get_wrappers(handle->fetch->views->cache, wrappers);
    options.wrappers = wrappers;
    options.cancelled = handle->cancelled;
    return options;
}

static struct functions *
make_functions(struct handle *handle, const struct select_pin *pin)
{
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct view_options options = select_pin_options(handle, wrappers);

    return functions_new(pin->profile, &options, &handle->failure);
}

int
select_pin_calls(struct handle *handle, struct select_pin *pin)
{
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct view_options options = select_pin_options(handle, wrappers);

    if (!pin->tree && handle_compute(handle))
        return SQLITE_INTERRUPT;
    if (!pin->tree)
        pin->tree = call_tree_new(pin->profile, &options, CALL_TREE_SHORT,
                                  CALL_TREE_BY_NAME, &handle->failure);
    if (pin->tree &&
        (pin->calls.list || call_rows_make(&pin->calls, pin->tree, &options,
                                           &handle->failure) == 0))
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

int
select_pin(struct handle *handle, const char *name, const char *base,
           struct select_pin **out)
{
    struct select_pin *pin = NULL;
    bool cluster;
    int rc;

    if (!handle->fetch)
        return fetch_refuse(handle);
    cluster =
        (name && cluster_name_is(name)) || (base && cluster_name_is(base));
    if (!name)
        name = SNAPSHOT_NOW;
    if (cluster)
        rc = pin_cluster(handle, name, base, &pin);
    else
        rc = base ? pin_difference(handle, name, base, &pin)
                  : pin_one(handle, name, &pin);
    if (rc == SQLITE_OK && !pin->functions) {
        if (handle_compute(handle))
            return SQLITE_INTERRUPT;
        pin->functions = make_functions(handle, pin);
        rc = pin->functions ? SQLITE_OK : SQLITE_ERROR;
    }
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    if (rc != SQLITE_OK)
        return rc;
    tell_empty(handle, pin);
    pin->readers++;
    pin->used = ++handle->fetch->pins->uses;
    *out = pin;
    return SQLITE_OK;
}

/* Lists all snapshots that are kept now. */
static int
list_stored_snapshots(struct handle *handle)
{
    struct select_pins *pins = handle->fetch->pins;
    struct store_entry *entries;
    size_t count;
    int rc = SQLITE_OK;

    if (pins->listed)
        return SQLITE_OK;
    entries = mem_zalloc(STORE_COUNT_MAX, sizeof(*entries));
    if (!entries)
        return SQLITE_NOMEM;
    count = store_list(select_snapshot_store(handle), entries, STORE_COUNT_MAX);
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        if (!find_select_snapshot(pins, entries[i].name, NULL) &&
            !add_stored_snapshot(handle, &entries[i], entries[i].name))
            rc = SQLITE_ERROR;
    mem_free(entries);
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    pins->listed = rc == SQLITE_OK;
    return rc;
}

/* Whether the text is the snapshot's own name and no short form of it. */
static bool
is_full_snapshot_name(const struct select_pin *pin)
{
    return pin->serial && strcmp(pin->name, pin->alias) == 0;
}

static bool
is_fatal(const struct error *failure)
{
    return failure->code == ER_OUT_OF_MEMORY ||
           failure->code == ER_QUERY_INTERRUPTED;
}

/* Checks the base first, since its fault would fail every comparison. */
static int
begin_list(struct handle *handle, const char *base)
{
    struct select_pin *compared;
    int rc = list_stored_snapshots(handle);

    if (rc == SQLITE_OK && base)
        rc = pin_one(handle, base, &compared);
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    return rc;
}

/* Warns once, though a join may read it again. */
static void
warn_of_skipped_snapshot(struct handle *handle, struct select_pin *pin)
{
    if (!pin->warned)
        warnings_add(handle->session, handle->failure.code, "%s",
                     handle->failure.text);
    pin->warned = true;
    handle->failed = false;
}

int
select_pin_next(struct handle *handle, size_t *at, const char *base,
                bool observed, struct select_pin **out)
{
    struct select_pins *pins;
    int rc;

    *out = NULL;
    if (!handle->fetch || (base && cluster_name_is(base)))
        return select_pin(handle, NULL, base, out); /* which sets the reason */
    pins = handle->fetch->pins;
    rc = *at == 0 ? begin_list(handle, base) : SQLITE_OK;
    while (rc == SQLITE_OK && *at <= pins->count) {
        size_t number = (*at)++;
        struct select_pin *pin = number ? pins->list[number - 1] : &pins->fresh;

        if (handle->cancelled && atomic_load(handle->cancelled))
            return SQLITE_INTERRUPT;
        if (number == 0
                ? observed || !handle->names_now
                : !is_full_snapshot_name(pin) || pin->observed != observed)
            continue;
        rc = select_pin(handle, number ? pin->label : NULL, base, out);
        if (rc != SQLITE_ERROR || is_fatal(&handle->failure))
            return rc;
        warn_of_skipped_snapshot(handle, pin);
        rc = SQLITE_OK;
    }
    return rc;
}
