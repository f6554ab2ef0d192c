/*
 * dot_picture.h - a call graph that graphviz draws for people.
 *
 * A box's size and color show how much its function allocated itself.
 * dot_write() (forms.h) gives jeprof's graph instead.
 */
#ifndef HW_DOT_PICTURE_H
#define HW_DOT_PICTURE_H

#include <stddef.h>

struct buffer;
struct graph;
struct profile;
struct view_options;

/* Appends graph's DOT source to out; valid whatever the functions' names are.
 */
void dot_picture(const struct profile *profile, const struct graph *graph,
                 const struct view_options *options, struct buffer *out);

/* Appends svg, graphviz's SVG of that source, with titles that give the whole
 * name and the figures of each box and arrow, and with texts that stay within
 * their boxes.  svg is NUL-terminated. */
void dot_picture_titled(const struct profile *profile,
                        const struct graph *graph,
                        const struct view_options *options, const char *svg,
                        size_t size, struct buffer *out);

#endif
