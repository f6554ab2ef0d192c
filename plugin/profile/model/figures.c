/* figures.c - see figures.h. */
#include "figures.h"

#include <math.h>
#include <stdio.h>

const char *
figure_value(double value, const struct view_options *options,
             char out[FIGURE_TEXT])
{
    if (measure_is_space(options->measure) && !options->show_bytes) {
        snprintf(out, FIGURE_TEXT, "%.1f", value / 1048576.0);
        return out;
    }
    value = trunc(value);
    /* Never "-0". */
    snprintf(out, FIGURE_TEXT, "%.0f", value == 0 ? 0 : value);
    return out;
}

const char *
figure_percent(double value, double total, char out[FIGURE_TEXT])
{
    if (total != 0)
        snprintf(out, FIGURE_TEXT, "%.1f%%", value * 100.0 / total);
    else
        snprintf(out, FIGURE_TEXT, "%s",
                 value == 0  ? "nan"
                 : value > 0 ? "+inf"
                             : "-inf");
    return out;
}

const char *
figure_unit(const struct view_options *options)
{
    if (!measure_is_space(options->measure))
        return "objects";
    return options->show_bytes ? "B" : "MB";
}

const char *
figure_name(enum measure measure)
{
    static const char *const names[] = {"in use", "objects in use", "allocated",
                                        "objects allocated"};

    return names[measure];
}

void
figure_text(double value, const struct view_options *options, bool is_signed,
            char out[FIGURE_TEXT])
{
    static const char *const units[] = {"KB", "MB"};
    const char *sign = value < 0 ? "-" : is_signed && value > 0 ? "+" : "";
    double size = fabs(value);
    size_t unit = 0;

    if (!measure_is_space(options->measure)) {
        snprintf(out, FIGURE_TEXT, "%s%.0f object%s", sign, size,
                 round(size) == 1 ? "" : "s");
    } else if (options->show_bytes || size < 1024) {
        snprintf(out, FIGURE_TEXT, "%s%.0f B", sign, size);
    } else {
        /* 1023.96 KB would read as 1024.0. */
        for (size /= 1024; unit < 1 && size >= 1023.95; unit++)
            size /= 1024;
        snprintf(out, FIGURE_TEXT, "%s%.1f %s", sign, size, units[unit]);
    }
}
