/*
 * view_work.h - one view that was asked for: what it depends on, and its
 * computation.
 *
 * Belongs to one thread; any thread may set cancelled and read the stage.
 */
#ifndef HW_VIEW_WORK_H
#define HW_VIEW_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "await.h"
#include "buffer.h"
#include "view_cache.h"
#include "view_options.h"

struct error;
struct store;

enum view_stage { VIEW_LOADING, VIEW_COMPARING, VIEW_RENDERING };

struct view_work {
    struct view_request request; /* points to what follows */
    struct view_options options;
    char *name, *base, *focus, *ignore, *wrappers;
    uint64_t serial, base_serial; /* of the snapshots, when it was asked for */
    struct buffer key;            /* equal: an equal view */
    bool lasting;                 /* of kept snapshots alone */
    atomic_bool cancelled;
    atomic_uint stage; /* enum view_stage; relaxed */
};

/* Copies all; wrappers go into the request's options.  -1 with *err and nothing
 * to release. */
int view_work_init(struct view_work *work, struct store *store,
                   const struct view_request *request, const char *wrappers,
                   struct error *err);
void view_work_fini(struct view_work *work);

/* Appends the view to out; reads the store.  -1 with *err. */
int view_work_run(struct view_work *work, struct store *store,
                  struct buffer *out, struct error *err);

void view_work_progress(const struct view_work *work, struct progress *out);

#endif
