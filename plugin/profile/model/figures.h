/*
 * figures.h - the numbers of a report as jeprof prints them.
 */
#ifndef HW_FIGURES_H
#define HW_FIGURES_H

struct view_options;

enum { FIGURE_TEXT = 64 };

/* "114.7" megabytes, or whole bytes or objects; returns out. */
const char *figure_value(double value, const struct view_options *options,
                         char out[FIGURE_TEXT]);

/* "12.3%"; of nothing "nan", "+inf" or "-inf". */
const char *figure_percent(double value, double total, char out[FIGURE_TEXT]);

/* What figure_value counts: "MB", "B" or "objects". */
const char *figure_unit(const struct view_options *options);

#endif
