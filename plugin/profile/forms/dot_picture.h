/*
 * dot_picture.h - a call graph for graphviz to draw and people to look at.
 *
 * Boxes are as large and as coloured as what their functions allocated
 * themselves.  dot.h writes jeprof's graph instead.
 */
#ifndef HW_DOT_PICTURE_H
#define HW_DOT_PICTURE_H

#include <stddef.h>

struct buffer;
struct graph;
struct profile;
struct view_options;

/* Appends graph's DOT source to out; valid whatever functions are called. */
void dot_picture(const struct profile *profile, const struct graph *graph,
                 const struct view_options *options, struct buffer *out);

/* Appends the SVG that graphviz made of it, with titles that say what a box or
 * an arrow is: its whole name and its figures. */
void dot_picture_titled(const struct profile *profile,
                        const struct graph *graph,
                        const struct view_options *options, const char *svg,
                        size_t size, struct buffer *out);

#endif
