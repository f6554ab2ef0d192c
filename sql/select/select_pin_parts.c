/* select_pin_parts.c - what a recorder alone knows of a pin's snapshot: see
 * select_pins.h. */
#include "select_pins.h"

#include "errors.h"
#include "fetch.h"
#include "handle.h"
#include "profile.h"
#include "sql_session.h"

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

int
select_pin_parts(struct handle *handle, struct select_pin *pin, bool *has)
{
    const struct profile *profile = pin->profile;

    *has = profile->parts != NULL;
    if (!*has)
        tell_unknown(handle, pin, "threads and ages",
                     profile->nodes > 0 ? "are not known of several nodes' sum"
                                        : "are " ONLY_RECORDED);
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

bool
select_pin_counts(struct handle *handle, struct select_pin *pin)
{
    const struct profile *profile = pin->profile;

    if (profile->counted_ms > 0)
        return true;
    tell_unknown(handle, pin, "what is allocated and freed a second",
                 profile->nodes > 0 ? "is not known of several nodes' sum"
                 : profile->parts   ? "is not known once its profile was reset"
                                    : "is " ONLY_RECORDED);
    return false;
}
