/*
 * figures.h - numbers as text: for reports in jeprof's form, and for people.
 */
#ifndef HW_FIGURES_H
#define HW_FIGURES_H

#include <stdbool.h>

#include "view_options.h"

enum { FIGURE_TEXT = 64 };

/* "114.7" megabytes, or whole bytes or objects; returns out. */
const char *figure_value(double value, const struct view_options *options,
                         char out[FIGURE_TEXT]);

/* "12.3%"; of a total of 0 "nan", "+inf" or "-inf". */
const char *figure_percent(double value, double total, char out[FIGURE_TEXT]);

/* The unit of figure_value: "MB", "B" or "objects". */
const char *figure_unit(const struct view_options *options);

/*
 * With its unit: "12.3 MB", "4.0 KB", "17 B", "3 objects"; whole bytes if
 * options ask for them; is_signed: with the sign of a difference.
 */
void figure_text(double value, const struct view_options *options,
                 bool is_signed, char out[FIGURE_TEXT]);

/* "in use", "allocated", "objects in use", "objects allocated". */
const char *figure_name(enum measure measure);

#endif
