/*
 * graphviz.h - the call graph as a picture, SVG or PDF, by graphviz's dot.
 *
 * dot is another program: no shell, an environment and limits of its own, low
 * priority, killed and reaped when it is too slow, too much or not wanted any
 * more.  Blocks for as long as it runs: not for an event loop.  Any thread.
 */
#ifndef HW_GRAPHVIZ_H
#define HW_GRAPHVIZ_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;
struct profile;
struct view_options;

enum { GRAPHVIZ_DEADLINE_MS = 30 * 1000, GRAPHVIZ_OUTPUT_MAX = 64 << 20 };

enum graphviz_format { GRAPHVIZ_SVG, GRAPHVIZ_PDF };

struct graphviz_run {
    const char *program; /* absolute path */
    enum graphviz_format format;
    uint32_t deadline_ms;
    const atomic_bool *cancelled; /* or NULL */
};

/* "program -Tsvg", or -Tpdf, with source on its stdin; appends what it answers
 * to out. -1 with *err; out is then as it was. */
int graphviz_render(const struct graphviz_run *run, const char *source,
                    size_t size, struct buffer *out, struct error *err);

/* Where dot is; NULL: nowhere. */
const char *graphviz_program(void);

/* The call graph (dot_picture.h).  As dot_write fails, or when there is no
 * dot. */
int graphviz_svg(const struct profile *profile,
                 const struct view_options *options, struct buffer *out,
                 struct error *err);
int graphviz_pdf(const struct profile *profile,
                 const struct view_options *options, struct buffer *out,
                 struct error *err);

#endif
