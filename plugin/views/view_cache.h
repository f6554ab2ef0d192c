/*
 * view_cache.h - views of snapshots, each computed once and shared.
 *
 * Equal requests share one computation (flight.h), on threads of the cache's
 * own; views of kept snapshots, which never change, are then answered from
 * memory until newer views evict them.  A computation that nobody waits for any
 * more is cancelled.
 *
 * All functions are callable from any thread, and only view_cache_get blocks.
 * No lock but the wakers' is taken under the cache's own, and none is held
 * while a view is rendered.
 */
#ifndef HW_VIEW_CACHE_H
#define HW_VIEW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flight.h"
#include "view.h"
#include "waker.h"

struct error;
struct snapshot;
struct store;
struct view_cache;

enum {
    VIEW_BYTES_MAX = 64 << 20, /* of one view */
    VIEW_JOBS_MAX = 64,        /* computations that wait or run */
    VIEW_THREADS = 8,
    VIEW_KEPT_BYTES_MAX = 64 << 20, /* of all views in memory */
    VIEW_KEPT_VIEW_MAX = 16 << 20,  /* a larger view is not kept in memory */
    VIEW_KEPT_COUNT_MAX = 512,
    /* Of all finished views, also those that clients still read: above it no
     * rendering is begun. */
    VIEW_ALIVE_BYTES_MAX = 256 << 20
};

struct view_request {
    const char *owner; /* the user; NULL: none.  Owners share threads and slots
                          to wait, as user_quota.h says */
    const char *name;  /* of a kept snapshot, or else */
    struct snapshot *snapshot; /* one that is not; borrowed */
    const char *base;          /* a kept one's name; NULL: no difference, */
    struct snapshot *before;   /* but for this one; borrowed, or NULL */
    bool force;                /* compare what cannot be compared */
    /* NULL: the snapshot itself as a file (snapshot_file.h). */
    const struct view_form *form;
    const struct view_options *options; /* NULL: the defaults; copied */
};

/* threads 0: view_cache_submit computes.  NULL with *err. */
struct view_cache *view_cache_start(struct store *store, unsigned threads,
                                    struct error *err);
/* Every seat must have been left.  NULL is fine. */
void view_cache_stop(struct view_cache *cache);

/* Sets which functions the node counts as the allocator's (allocator.h; "":
 * none) in all views requested from now on.  out has WRAPPERS_TEXT_BYTES. */
void view_cache_set_wrappers(struct view_cache *cache, const char *list);
void view_cache_get_wrappers(struct view_cache *cache, char *out);

/* A reference, or NULL with *err: it failed, or the await is over. */
struct view *view_cache_get(struct view_cache *cache,
                            const struct view_request *request,
                            struct await *await, struct error *err);
/* The same in two steps.  NULL with *err.  The answer may be there already, and
 * then the waker is not called: poll before waiting. */
struct seat *view_cache_submit(struct view_cache *cache,
                               const struct view_request *request,
                               struct waker waker, struct error *err);
/* DONE gives *out, a reference, FAILED *err. */
enum flight_state view_cache_poll(struct seat *seat, struct view **out,
                                  struct error *err);

struct view_counts {
    uint64_t rendered;     /* computations that succeeded */
    uint64_t shared;       /* requests that joined another's computation */
    uint64_t cached;       /* answered from memory */
    uint64_t views, bytes; /* kept now */
};
void view_cache_count(struct view_cache *cache, struct view_counts *out);

#endif
