/*
 * flamegraph.h - a profile as a flame graph: one SVG with its script in it.
 *
 * https://www.brendangregg.com/flamegraphs.html: a frame's width is what it
 * and all it called weigh, callers lie below, the root ("all") at the bottom,
 * siblings by name.  In a difference the width is how much changed, whichever
 * way; red grew, blue shrank, grey may be chance (significance.h).
 *
 * Needs nothing from outside, shows all without its script, and is safe to
 * open whatever functions are called.
 */
#ifndef HW_FLAMEGRAPH_H
#define HW_FLAMEGRAPH_H

struct buffer;
struct error;
struct profile;
struct view_options;

enum {
    FLAMEGRAPH_NAME_MAX = 400,     /* bytes; longer names end in "…" */
    FLAMEGRAPH_FRAMES_MAX = 20000, /* the narrowest go */
    FLAMEGRAPH_DEPTH_MAX = 1000    /* deeper frames go */
};

/* Appends the file.  As dot_write fails. */
int flamegraph_write(const struct profile *profile,
                     const struct view_options *options, struct buffer *out,
                     struct error *err);

#endif
