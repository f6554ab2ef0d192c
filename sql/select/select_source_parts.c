/*
 * select_source_parts.c - makes a source's rows by thread, age, pool and waste
 * (select_sources.h), each when a table first asks for them.
 *
 * They exist only if the profile has the data (a recorder noted them,
 * jemalloc's size classes were known).  If not, the table is empty and one
 * warning per snapshot says why: an error would break a join over many
 * snapshots.
 */
#include "select_sources.h"

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
warn_unknown_rows(struct handle *handle, struct select_source *source,
                  const char *what, const char *why)
{
    if (!source->warned)
        warnings_add(handle->session, ER_UNKNOWN, "snapshot '%s': %s %s",
                     source->label, what, why);
    source->warned = true;
}

#define ONLY_RECORDED                                                          \
    "known only of a database that records its heap: heapwire-run "            \
    "--profiling-source interposed"

/* Did a recorder note the samples, with their ages? */
static bool
has_recorders_parts(const struct profile *profile)
{
    return profile->parts && !live_parts_numbered(profile->parts);
}

int
select_source_parts(struct handle *handle, struct select_source *source,
                    bool ages, bool *has)
{
    const struct profile *profile = source->profile;

    *has = ages ? has_recorders_parts(profile) : profile->parts != NULL;
    if (!*has && ages)
        warn_unknown_rows(handle, source, "ages",
                          profile->nodes > 0
                              ? "are not known of several nodes' sum"
                              : "are " ONLY_RECORDED);
    else if (!*has && profile->stack_count > 0)
        warn_unknown_rows(handle, source, "threads are not known:",
                          profile_no_threads(profile));
    /* Made once per source; they are dropped with it. */
    if (!*has || source->parts.threads)
        return SQLITE_OK;
    if (part_rows_init(&source->parts, profile, source->functions,
                       &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

int
select_source_waste(struct handle *handle, struct select_source *source,
                    bool *has)
{
    const struct profile *profile = source->profile;

    *has = profile->waste != NULL;
    if (!*has)
        warn_unknown_rows(
            handle, source, "waste",
            profile->nodes > 0
                ? "is not known of several nodes' sum: "
                  "cluster_heap_waste has each node's"
                : "is known only with jemalloc's counts by size class "
                  "(heapwire.malloc_bins) at the time of the snapshot");
    if (!*has || source->waste.list)
        return SQLITE_OK;
    if (waste_rows_init(&source->waste, profile, source->functions,
                        &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

/* Makes the difference once more, of both profiles with pools as their
 * roots. */
static int
diff_pools(struct handle *handle, struct select_source *source,
           const struct view_options *options)
{
    const struct profile *now = source->now_source->snapshot->profile;
    const struct profile *base = source->base_source->snapshot->profile;
    struct profile *roots[2] = {NULL, NULL};

    if (profile_root(now, options, &roots[0], &handle->failure) == 0 &&
        profile_root(base, options, &roots[1], &handle->failure) == 0)
        source->by_pool = diff_make_until(
            roots[0] ? roots[0] : now, roots[1] ? roots[1] : base,
            handle->memory.cancelled, &handle->failure);
    profile_free(roots[0]);
    profile_free(roots[1]);
    handle->failed |= !source->by_pool;
    return source->by_pool ? SQLITE_OK : SQLITE_ERROR;
}

/* Asks for the sum of the nodes' differences by pool. */
static int
sum_pools(struct handle *handle, struct select_source *source,
          const struct view_options *options)
{
    struct cluster_sum sum;
    int rc = cluster_heap_need(handle, source->label, source->base, false,
                               options, &sum);

    if (rc == SQLITE_OK)
        source->pool_sum = snapshot_ref(sum.snapshot);
    return rc;
}

static int
make_pools(struct handle *handle, struct select_source *source)
{
    char wrappers[WRAPPERS_TEXT_BYTES];
    struct view_options options = select_source_options(handle, wrappers);
    const struct profile *by_pool;
    int rc;

    options.by_pool = true;
    rc = source->now_source ? diff_pools(handle, source, &options)
                            : sum_pools(handle, source, &options);
    if (rc != SQLITE_OK)
        return rc;
    by_pool = source->now_source ? source->by_pool : source->pool_sum->profile;
    source->pool_functions = functions_new(by_pool, &options, &handle->failure);
    if (source->pool_functions &&
        pool_rows_init(&source->pools, by_pool, source->pool_functions,
                       &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

/* Are the threads of a snapshot's profile known, if it has any samples? */
static bool
knows_threads(struct handle *handle, struct select_source *source,
              const struct profile *profile)
{
    if (profile->parts || profile->stack_count == 0)
        return true;
    warn_unknown_rows(handle, source,
                      "threads are not known:", profile_no_threads(profile));
    return false;
}

/* Is it a sum by node?  Its stacks begin with nodes, so pools cannot be their
 * roots. */
static bool
is_by_node(struct handle *handle, struct select_source *source)
{
    const size_t size = sizeof(SNAPSHOT_CLUSTER_BY_NODE) - 1;

    if (strncasecmp(source->label, SNAPSHOT_CLUSTER_BY_NODE, size) != 0)
        return false;
    warn_unknown_rows(handle, source, "pools",
                      "are not known by node: write '" SNAPSHOT_CLUSTER
                      "' in the place of '" SNAPSHOT_CLUSTER_BY_NODE "'");
    return true;
}

int
select_source_pools(struct handle *handle, struct select_source *source,
                    bool *has)
{
    *has = source->now_source
               ? knows_threads(handle, source,
                               source->now_source->snapshot->profile) &&
                     knows_threads(handle, source,
                                   source->base_source->snapshot->profile)
               : !is_by_node(handle, source);
    if (!*has || source->pools.list)
        return SQLITE_OK;
    if (handle_compute(handle))
        return SQLITE_INTERRUPT;
    return make_pools(handle, source);
}

bool
select_source_counts(struct handle *handle, struct select_source *source)
{
    const struct profile *profile = source->profile;

    if (profile->counted_ms > 0)
        return true;
    warn_unknown_rows(handle, source, "what is allocated and freed a second",
                      profile->nodes > 0 ? "is not known of several nodes' sum"
                      : has_recorders_parts(profile)
                          ? "is not known once its profile was reset"
                          : "is " ONLY_RECORDED);
    return false;
}
