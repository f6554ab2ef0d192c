/* select_pin_parts.c - what is known of a pin's samples besides their stacks:
 * see select_pins.h. */
#include "select_pins.h"

#include <strings.h>

#include "allocator.h"
#include "cluster_ask.h"
#include "diff.h"
#include "errors.h"
#include "fetch.h"
#include "functions.h"
#include "handle.h"
#include "live_parts.h"
#include "profile.h"
#include "profile_root.h"
#include "snapshot.h"
#include "sql_session.h"
#include "view_options.h"

/* Warns once that a table has no rows of a snapshot. */
static void
tell_unknown(struct handle *handle, struct select_pin *pin, const char *what,
             const char *why)
{
    if (!pin->warned && handle->session)
        warnings_add(handle->session, ER_UNKNOWN, "snapshot '%s': %s %s",
                     pin->label, what, why);
    pin->warned = true;
}

#define ONLY_RECORDED                                                          \
    "known only of a database that records its heap: heapwire-run "            \
    "--profiling-source interposed"

/* Whether a recorder noted the samples. */
static bool
has_recorders_parts(const struct profile *profile)
{
    return profile->parts && !live_parts_numbered(profile->parts);
}

int
select_pin_parts(struct handle *handle, struct select_pin *pin, bool ages,
                 bool *has)
{
    const struct profile *profile = pin->profile;

    *has = ages ? has_recorders_parts(profile) : profile->parts != NULL;
    if (!*has && ages)
        tell_unknown(handle, pin, "ages",
                     profile->nodes > 0 ? "are not known of several nodes' sum"
                                        : "are " ONLY_RECORDED);
    else if (!*has && profile->stack_count > 0)
        tell_unknown(handle, pin,
                     "threads are not known:", profile_no_threads(profile));
    if (!*has || pin->parts.threads)
        return SQLITE_OK;
    if (part_rows_make(&pin->parts, profile, pin->functions,
                       &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

int
select_pin_waste(struct handle *handle, struct select_pin *pin, bool *has)
{
    const struct profile *profile = pin->profile;

    *has = profile->waste != NULL;
    if (!*has)
        tell_unknown(handle, pin, "waste",
                     profile->nodes > 0
                         ? "is not known of several nodes' sum: "
                           "cluster_heap_waste has each node's"
                         : "is known only where jemalloc's size classes "
                           "(heapwire.malloc_bins) are known of when the "
                           "snapshot was taken");
    if (!*has || pin->waste.list)
        return SQLITE_OK;
    if (waste_rows_make(&pin->waste, profile, pin->functions,
                        &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

/* The difference again, of the two profiles by pool. */
static int
diff_pools(struct handle *handle, struct select_pin *pin,
           const struct view_options *options)
{
    const struct profile *now = pin->of->snapshot->profile;
    const struct profile *base = pin->since->snapshot->profile;
    struct profile *roots[2] = {NULL, NULL};

    if (profile_root(now, options, &roots[0], &handle->failure) == 0 &&
        profile_root(base, options, &roots[1], &handle->failure) == 0)
        pin->by_pool = diff_make_until(roots[0] ? roots[0] : now,
                                       roots[1] ? roots[1] : base,
                                       handle->cancelled, &handle->failure);
    profile_free(roots[0]);
    profile_free(roots[1]);
    handle->failed |= !pin->by_pool;
    return pin->by_pool ? SQLITE_OK : SQLITE_ERROR;
}

/* Likewise, the sum of the nodes' differences by pool. */
static int
sum_pools(struct handle *handle, struct select_pin *pin,
          const struct view_options *options)
{
    struct cluster_sum sum;
    int rc =
        cluster_heap_need(handle, pin->label, pin->base, false, options, &sum);

    if (rc == SQLITE_OK)
        pin->pool_sum = snapshot_ref(sum.snapshot);
    return rc;
}

static int
make_pools(struct handle *handle, struct select_pin *pin)
{
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct view_options options = select_pin_options(handle, wrappers);
    const struct profile *by_pool;
    int rc;

    options.by_pool = true;
    rc = pin->of ? diff_pools(handle, pin, &options)
                 : sum_pools(handle, pin, &options);
    if (rc != SQLITE_OK)
        return rc;
    by_pool = pin->of ? pin->by_pool : pin->pool_sum->profile;
    pin->pool_functions = functions_new(by_pool, &options, &handle->failure);
    if (pin->pool_functions &&
        pool_rows_make(&pin->pools, by_pool, pin->pool_functions,
                       &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

/* Whether the threads of a snapshot's profile are known, if it has any. */
static bool
knows_threads(struct handle *handle, struct select_pin *pin,
              const struct profile *profile)
{
    if (profile->parts || profile->stack_count == 0)
        return true;
    tell_unknown(handle, pin,
                 "threads are not known:", profile_no_threads(profile));
    return false;
}

/* Its stacks begin with nodes. */
static bool
is_by_node(struct handle *handle, struct select_pin *pin)
{
    const size_t size = sizeof(SNAPSHOT_CLUSTER_BY_NODE) - 1;

    if (strncasecmp(pin->label, SNAPSHOT_CLUSTER_BY_NODE, size) != 0)
        return false;
    tell_unknown(handle, pin, "pools",
                 "are not known by node: say '" SNAPSHOT_CLUSTER
                 "' in the place of '" SNAPSHOT_CLUSTER_BY_NODE "'");
    return true;
}

int
select_pin_pools(struct handle *handle, struct select_pin *pin, bool *has)
{
    *has = pin->of
               ? knows_threads(handle, pin, pin->of->snapshot->profile) &&
                     knows_threads(handle, pin, pin->since->snapshot->profile)
               : !is_by_node(handle, pin);
    if (!*has || pin->pools.list)
        return SQLITE_OK;
    if (handle_compute(handle))
        return SQLITE_INTERRUPT;
    return make_pools(handle, pin);
}

bool
select_pin_counts(struct handle *handle, struct select_pin *pin)
{
    const struct profile *profile = pin->profile;

    if (profile->counted_ms > 0)
        return true;
    tell_unknown(handle, pin, "what is allocated and freed a second",
                 profile->nodes > 0 ? "is not known of several nodes' sum"
                 : has_recorders_parts(profile)
                     ? "is not known once its profile was reset"
                     : "is " ONLY_RECORDED);
    return false;
}
