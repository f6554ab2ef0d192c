/* measured.c - see measured.h. */
#include "measured.h"

#include <math.h>
#include <stdio.h>

#include "errors.h"
#include "profile.h"

double
measured_stack(const struct profile_stack *stack, enum measure measure)
{
    switch (measure) {
    case MEASURE_INUSE_OBJECTS:
        return stack->objects;
    case MEASURE_ALLOC_SPACE:
        return stack->bytes_ever;
    case MEASURE_ALLOC_OBJECTS:
        return stack->objects_ever;
    default:
        return stack->bytes;
    }
}

double
measured_total(const struct profile *profile, enum measure measure)
{
    switch (measure) {
    case MEASURE_INUSE_OBJECTS:
        return profile->objects;
    case MEASURE_ALLOC_SPACE:
        return profile->bytes_ever;
    case MEASURE_ALLOC_OBJECTS:
        return profile->objects_ever;
    default:
        return profile->bytes;
    }
}

const char *
measured_name(enum measure measure)
{
    static const char *const names[] = {"in use", "objects in use", "allocated",
                                        "objects allocated"};

    return names[measure];
}

int
measured_check(const struct profile *profile, enum measure measure,
               struct error *err)
{
    if (profile->accumulated ||
        (measure != MEASURE_ALLOC_SPACE && measure != MEASURE_ALLOC_OBJECTS))
        return 0;
    error_set(err, ER_UNKNOWN,
              "this profile did not count what was ever allocated: start the "
              "program with prof_accum:true in MALLOC_CONF, or ask for "
              "inuse_space or inuse_objects");
    return -1;
}

int
measured_go_on(const struct view_options *options, struct error *err)
{
    if (!options->cancelled ||
        !atomic_load_explicit(options->cancelled, memory_order_relaxed))
        return 0;
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return -1;
}

void
measured_text(double value, const struct view_options *options, bool is_signed,
              char *out)
{
    static const char *const units[] = {"KB", "MB"};
    const char *sign = value < 0 ? "-" : is_signed && value > 0 ? "+" : "";
    double size = fabs(value);
    size_t unit = 0;

    if (!measure_is_space(options->measure)) {
        snprintf(out, MEASURED_TEXT, "%s%.0f object%s", sign, size,
                 round(size) == 1 ? "" : "s");
    } else if (options->show_bytes || size < 1024) {
        snprintf(out, MEASURED_TEXT, "%s%.0f B", sign, size);
    } else {
        /* 1023.96 KB would read as 1024.0. */
        for (size /= 1024; unit < 1 && size >= 1023.95; unit++)
            size /= 1024;
        snprintf(out, MEASURED_TEXT, "%s%.1f %s", sign, size, units[unit]);
    }
}
