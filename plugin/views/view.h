/*
 * view.h - a view: the forms of a profile, each by its name, and its text.
 *
 * The script language, SQL functions and heapwire-prof all offer this table.
 */
#ifndef HW_VIEW_H
#define HW_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "view_options.h"

struct error;
struct profile;

/* Immutable once made; shared by reference count (atomic). */
struct view {
    struct buffer bytes;
    size_t counted; /* of them, once it is made */
    int references;
};

struct view *view_new(size_t max); /* one reference; NULL: no memory */
struct view *view_ref(struct view *view);
void view_unref(struct view *view); /* NULL is fine */
/* Ends its growth and releases unused memory. */
void view_finish(struct view *view);
size_t view_bytes_alive(void); /* of all that are finished; any thread */

struct view_form {
    const char *name; /* "dot", "text", ... */
    bool binary;      /* not lines of text */
    /* Whether what it shows depends on by(), focus(), ...: raw does not. */
    bool takes_options;
    bool places;      /* shows files and lines, whatever the granularity */
    bool whole_names; /* shows functions with their arguments */
    bool text;        /* though no lines, a text all the same */
    bool by_graphviz; /* needs that program */
    int (*render)(const struct profile *profile,
                  const struct view_options *options, struct buffer *out,
                  struct error *err);
};

extern const struct view_form view_forms[];
extern const size_t view_form_count;

/* Whether what it shows depends on files and lines. */
bool view_needs_places(const struct view_form *form,
                       const struct view_options *options);

/* Whether functions' names may be shortened (function_name.h) before. */
bool view_takes_short_names(const struct view_form *form,
                            const struct view_options *options);

const struct view_form *view_form_find(const char *name); /* or NULL */

/* Appends what tells a view from others of the same profile.  form NULL: the
 * snapshot's own file. */
void view_key(struct buffer *key, const struct view_form *form,
              const struct view_options *options);

#endif
