/*
 * flamegraph.h - a profile as a flame graph: one SVG with its script in it.
 *
 * https://www.brendangregg.com/flamegraphs.html: a frame's width is the weight
 * of the function and all it called; callers lie below, the root ("all") at the
 * bottom, siblings by name.  In a difference the width is the size of the
 * change; red grew, blue shrank, grey may be chance (headline.h).
 *
 * The file needs nothing from outside.  Its script (flame.js, which the page of
 * the HTTP interface has, too) draws the picture anew from calls.h's list, for
 * zoom and search; without it, the picture is still there.
 */
#ifndef HW_FLAMEGRAPH_H
#define HW_FLAMEGRAPH_H

#include <stddef.h>

struct buffer;
struct error;
struct profile;
struct view_options;

enum {
    FLAMEGRAPH_NAME_MAX = 400,    /* bytes; longer names end in "…" */
    FLAMEGRAPH_FRAMES_MAX = 20000 /* the narrowest are left out */
};

/* As the functions of forms.h. */
int flamegraph_write(const struct profile *profile,
                     const struct view_options *options, struct buffer *out,
                     struct error *err);

/* The script and the style in flame/, which the build embeds. */

/* NUL-terminated. */
extern const char flame_script[];
extern const size_t flame_script_size;
extern const char flame_style[];
extern const size_t flame_style_size;

#endif
