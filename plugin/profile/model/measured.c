/* measured.c - see measured.h. */
#include "measured.h"

#include <math.h>
#include <stdio.h>

const char *
measured_name(enum measure measure)
{
    static const char *const names[] = {"in use", "objects in use", "allocated",
                                        "objects allocated"};

    return names[measure];
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
