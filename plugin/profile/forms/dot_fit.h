/*
 * dot_fit.h - texts of graphviz's SVG, kept in their boxes whatever the font.
 *
 * graphviz makes boxes as wide as their texts in a font that it has; the viewer
 * of the file has another.
 */
#ifndef HW_DOT_FIT_H
#define HW_DOT_FIT_H

#include <stddef.h>

struct buffer;

/* Appends svg, a part of an SVG that is NUL-terminated behind the part's end.
 * Each text in it gets the width that it has in Helvetica, and at most the
 * width of the part's box.  A part has no box if it has a path, which is an
 * arrow's. */
void dot_fit_texts(const char *svg, size_t size, struct buffer *out);

#endif
