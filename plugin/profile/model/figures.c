/* figures.c - see figures.h. */
#include "figures.h"

#include <math.h>
#include <stdio.h>

#include "view_options.h"

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
