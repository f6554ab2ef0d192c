/*
 * view_kept.h - views that are kept, up to a ceiling, by what they show.
 *
 * Not thread-safe; the views are shared by reference count (atomic).
 */
#ifndef HW_VIEW_KEPT_H
#define HW_VIEW_KEPT_H

#include <stddef.h>

#include "buffer.h"

enum {
    VIEW_KEPT_BYTES_MAX = 64 << 20, /* of all, */
    VIEW_KEPT_VIEW_MAX = 16 << 20,  /* and of one: larger ones are not kept */
    VIEW_KEPT_COUNT_MAX = 512,
    /* Of all living views together: above it no view is begun. */
    VIEW_ALIVE_BYTES_MAX = 256 << 20
};

/* Immutable once made. */
struct view {
    struct buffer bytes;
    size_t counted; /* of them, by view_finish */
    int references;
};

struct view *view_new(size_t max); /* one reference; NULL: no memory */
struct view *view_ref(struct view *view);
void view_unref(struct view *view); /* NULL is fine */
/* Ends a view's growth and releases unused memory. */
void view_finish(struct view *view);
/* Of all that are finished.  Any thread. */
size_t view_bytes_alive(void);

struct kept_view;

/* A zeroed one is empty. */
struct view_kept {
    struct kept_view *first; /* used last */
    size_t count, bytes;
};

/* Not a reference, or NULL. */
struct view *view_kept_find(struct view_kept *kept, const struct buffer *key);
/* Keeps the view, takes key's contents, and evicts others for it.  Does nothing
 * without memory. */
void view_kept_add(struct view_kept *kept, struct buffer *key,
                   struct view *view);
void view_kept_fini(struct view_kept *kept);

#endif
