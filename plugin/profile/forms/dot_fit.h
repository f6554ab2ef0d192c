/*
 * dot_fit.h - texts of graphviz's SVG, kept in their boxes whatever the font.
 *
 * graphviz makes boxes as wide as their texts are in a font that it has; who
 * looks at the file has another.
 */
#ifndef HW_DOT_FIT_H
#define HW_DOT_FIT_H

#include <stddef.h>

struct buffer;

/* Appends a part of an SVG, NUL-terminated behind its end, in which each text
 * gets the width that it has in Helvetica, and none more than the box of the
 * part, if it has one and no path, which is an arrow's. */
void dot_fit_texts(const char *svg, size_t size, struct buffer *out);

#endif
