/* emptiness.c - see emptiness.h. */
#include "emptiness.h"

#include <stdio.h>

#include "clock.h"
#include "profile.h"
#include "view_options.h"

static bool
changed(const struct profile *profile, const struct view_options *options)
{
    for (size_t i = 0; i < profile->stack_count; i++)
        if (profile_value(&profile->stacks[i], options->measure) != 0)
            return true;
    return false;
}

const char *
emptiness_text(const struct profile *profile,
               const struct view_options *options, bool shown,
               char out[EMPTINESS_TEXT])
{
    bool ever = options->measure == MEASURE_ALLOC_SPACE ||
                options->measure == MEASURE_ALLOC_OBJECTS;
    bool sampled = profile->samples > 0 || (ever && profile->accumulated);
    char since[CLOCK_TEXT];

    if (sampled && shown)
        snprintf(out, EMPTINESS_TEXT, "%s", "");
    else if (sampled && (options->focus || options->ignore))
        snprintf(out, EMPTINESS_TEXT, "no stack matches");
    else if (sampled && profile->difference && !changed(profile, options))
        snprintf(out, EMPTINESS_TEXT, "nothing changed");
    else if (sampled)
        snprintf(out, EMPTINESS_TEXT, "nothing is large enough to be shown");
    else if (!profile->origin.live)
        snprintf(out, EMPTINESS_TEXT, "nothing sampled");
    else if (profile->origin.active_since_ms == 0)
        snprintf(out, EMPTINESS_TEXT, "profiling is not active");
    else {
        clock_text(profile->origin.active_since_ms, since, sizeof(since));
        snprintf(out, EMPTINESS_TEXT, "nothing sampled since %s UTC (active)",
                 since);
    }
    return out;
}
