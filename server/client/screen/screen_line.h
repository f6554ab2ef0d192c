/*
 * screen_line.h - a line of a terminal: text of nodes that is made harmless,
 * and figures.
 *
 * Widths are columns of the terminal.  How wide a character is follows the
 * locale (setlocale()); if that is not UTF-8, all beyond ASCII becomes '?'.
 */
#ifndef HW_SCREEN_LINE_H
#define HW_SCREEN_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

enum { SCREEN_WIDTH_MAX = 500, FIGURE_TEXT = 24 };

enum screen_style {
    SCREEN_PLAIN,
    SCREEN_HEAD,    /* lines of nodes */
    SCREEN_TITLES,  /* titles of columns */
    SCREEN_CHOSEN,  /* the row that the arrow keys move */
    SCREEN_MARKED,  /* a row that the space bar marked */
    SCREEN_TROUBLE, /* something that a node cannot tell */
    SCREEN_KEYS
};

struct screen_line {
    enum screen_style style;
    unsigned width; /* columns in use, of max */
    unsigned max;
    size_t size;
    char text[SCREEN_WIDTH_MAX * 4 + 1]; /* NUL-terminated */
};

void line_start(struct screen_line *line, enum screen_style style,
                unsigned max);

/* Appends at most width columns of text, without its first skip columns.
 * Control characters, broken UTF-8 and characters without a width never get
 * there. */
void line_add(struct screen_line *line, struct span text, unsigned skip,
              unsigned width);
void line_text(struct screen_line *line, const char *text);
/* Write text aligned in width columns, and cut what is longer. */
void line_left(struct screen_line *line, struct span text, unsigned width);
void line_right(struct screen_line *line, const char *text, unsigned width);
void line_fill(struct screen_line *line, unsigned to_width); /* with blanks */

/* Write a figure of at most six columns.  out has FIGURE_TEXT bytes. */
void figure_bytes(double bytes, char *out);   /* 1.2G */
void figure_count(double count, char *out);   /* 12345, 1.2M */
void figure_percent(double share, char *out); /* 12.3 */
void figure_time(double ms, char *out);       /* 1.2s, 3:07, 2h05 */

#endif
