/* view_options.c - see view_options.h. */
#include "view_options.h"

#include <string.h>

#include "errors.h"

enum { CANCEL_EVERY = 1024 }; /* a power of two */

const struct view_options view_defaults = {.nodecount = 80,
                                           .nodefraction = .005,
                                           .edgefraction = .001,
                                           .maxdegree = 8};

const char *const measure_words[] = {"inuse_space", "inuse_objects",
                                     "alloc_space", "alloc_objects"};
const char *const granularity_words[] = {"functions", "lines", "files",
                                         "addresses"};

static bool
find(const char *const *words, size_t count, const char *word, unsigned *out)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool
measure_parse(const char *word, enum measure *out)
{
    unsigned i;

    if (!find(measure_words, MEASURE_COUNT, word, &i))
        return false;
    *out = (enum measure)i;
    return true;
}

bool
granularity_parse(const char *word, enum granularity *out)
{
    unsigned i;

    if (!find(granularity_words, GRANULARITY_COUNT, word, &i))
        return false;
    *out = (enum granularity)i;
    return true;
}

bool
measure_is_space(enum measure measure)
{
    return measure == MEASURE_INUSE_SPACE || measure == MEASURE_ALLOC_SPACE;
}

bool
view_cancelled(const struct view_options *options, size_t i, struct error *err)
{
    /* Only the flag itself matters, so relaxed order is enough. */
    if (i % CANCEL_EVERY != 0 || !options->cancelled ||
        !atomic_load_explicit(options->cancelled, memory_order_relaxed))
        return false;
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return true;
}
