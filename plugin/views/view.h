/*
 * view.h - a view: the forms of a profile by their names, and the bytes of a
 * rendered one.
 *
 * The script language, SQL functions and heapwire-prof all offer this table.
 */
#ifndef HW_VIEW_H
#define HW_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "view_options.h"

struct buffer;
struct error;
struct profile;
struct view_options;

/* Immutable once made; shared by reference count (atomic). */
struct view {
    struct buffer bytes;
    size_t counted; /* what view_finish() added to view_bytes_alive() */
    atomic_int references;
};

struct view *view_new(size_t max); /* one reference; NULL: no memory */
struct view *view_ref(struct view *view);
void view_unref(struct view *view); /* NULL is fine */
/* Call once its bytes are complete: appends a NUL, releases unused memory and
 * counts the view as alive. */
void view_finish(struct view *view);
size_t view_bytes_alive(void); /* bytes of all finished views; any thread */

struct view_form {
    const char *name; /* "dot", "text", ... */
    bool binary;      /* not lines of text */
    /* Whether what it shows depends on by(), focus(), ...: raw does not. */
    bool takes_options;
    bool needs_source_lines; /* shows files and lines, whatever the granularity
                              */
    bool shows_full_names;   /* shows functions with their arguments */
    bool text;               /* a text, though it is sent like a binary form */
    bool by_graphviz;        /* needs that program */
    int (*render)(const struct profile *profile,
                  const struct view_options *options, struct buffer *out,
                  struct error *err);
};

extern const struct view_form view_forms[];
extern const size_t view_form_count;

/* Whether what it shows depends on files and lines. */
bool view_needs_source_lines(const struct view_form *form,
                             const struct view_options *options);

/* Whether functions' names may be shortened (function_name.h) before
 * rendering. */
bool view_takes_short_names(const struct view_form *form,
                            const struct view_options *options);

const struct view_form *view_form_find(const char *name); /* or NULL */

/* Appends what distinguishes a view from others of the same profile.  form
 * NULL: the snapshot's own file. */
void view_key(struct buffer *key, const struct view_form *form,
              const struct view_options *options);

/* ---- the call graph as a picture, by graphviz's dot ----
 * dot is another program: it gets no shell, its own environment and limits, and
 * low priority, and is killed and reaped when it is too slow, answers too much
 * or is no longer wanted.  Blocks while it runs: not for an event loop.  Any
 * thread. */

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

/* The path of dot; NULL: it is not installed. */
const char *graphviz_program(void);

/* The call graph (dot_picture.h).  Fails as dot_write does, and where there is
 * no dot. */
int graphviz_svg(const struct profile *profile,
                 const struct view_options *options, struct buffer *out,
                 struct error *err);
int graphviz_pdf(const struct profile *profile,
                 const struct view_options *options, struct buffer *out,
                 struct error *err);

#endif
