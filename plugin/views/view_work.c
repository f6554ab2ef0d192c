/* view_work.c - see view_work.h. */
#include "view_work.h"

#include <string.h>

#include "diff.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "store.h"
#include "view.h"

enum { KEY_MAX = 64 * 1024 };

/* ---- what it depends on ---- */

static void
add_text(struct buffer *key, const char *text)
{
    buffer_u8(key, text != NULL);
    buffer_lenenc_bytes(key, text ? text : "", text ? strlen(text) : 0);
}

static void
add_double(struct buffer *key, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    buffer_u64(key, bits);
}

static void
add_options(struct buffer *key, const struct view_options *options)
{
    buffer_u8(key, (uint8_t)options->measure);
    buffer_u8(key, (uint8_t)options->granularity);
    buffer_u32(key, options->nodecount);
    add_double(key, options->nodefraction);
    add_double(key, options->edgefraction);
    buffer_u32(key, options->maxdegree);
    buffer_u8(key, options->allocator_frames);
    buffer_u8(key, options->show_bytes);
    buffer_u8(key, options->by_growth);
    add_text(key, options->focus);
    add_text(key, options->ignore);
}

static void
make_key(struct view_work *work)
{
    const struct view_form *form = work->request.form;
    struct buffer *key = &work->key;

    buffer_init(key, KEY_MAX);
    buffer_u64(key, work->serial);
    buffer_u64(key, work->base_serial);
    buffer_u8(key, work->request.force);
    add_text(key, work->options.wrappers);
    add_text(key, form ? form->name : NULL);
    if (form && form->takes_options)
        add_options(key, &work->options);
}

/* Which snapshot has this name now. */
static int
identify(struct store *store, const char *name, uint64_t *serial,
         struct error *err)
{
    struct store_entry entry;

    if (store_find(store, name, &entry, err) != 0)
        return -1;
    *serial = entry.serial;
    return 0;
}

/* false: no memory. */
static bool
copy_text(char **copy, const char **text)
{
    if (!*text)
        return true;
    *copy = mem_strdup(*text);
    *text = *copy;
    return *copy != NULL;
}

static enum view_stage
first_stage(const struct view_request *request)
{
    return request->name                      ? VIEW_LOADING
           : request->base || request->before ? VIEW_COMPARING
                                              : VIEW_RENDERING;
}

int
view_work_init(struct view_work *work, struct store *store,
               const struct view_request *request, const char *wrappers,
               struct error *err)
{
    memset(work, 0, sizeof(*work));
    if (request->name &&
        identify(store, request->name, &work->serial, err) != 0)
        return -1;
    if (request->base &&
        identify(store, request->base, &work->base_serial, err) != 0)
        return -1;
    work->request = *request;
    work->request.options = &work->options;
    work->options = request->options ? *request->options : view_defaults;
    work->options.cancelled = &work->cancelled;
    work->options.wrappers = wrappers;
    if (request->snapshot) {
        snapshot_ref(request->snapshot);
        work->serial = request->snapshot->serial;
    }
    if (request->before) {
        snapshot_ref(request->before);
        work->base_serial = request->before->serial;
    }
    work->lasting = request->name != NULL;
    atomic_init(&work->cancelled, false);
    atomic_init(&work->stage, first_stage(request));
    if (copy_text(&work->name, &work->request.name) &&
        copy_text(&work->base, &work->request.base) &&
        copy_text(&work->focus, &work->options.focus) &&
        copy_text(&work->ignore, &work->options.ignore) &&
        copy_text(&work->wrappers, &work->options.wrappers))
        make_key(work);
    else
        work->key.failed = true;
    if (!work->key.failed)
        return 0;
    view_work_fini(work);
    error_memory(err, "what a view is asked to show");
    return -1;
}

void
view_work_fini(struct view_work *work)
{
    snapshot_unref(work->request.snapshot);
    snapshot_unref(work->request.before);
    buffer_fini(&work->key);
    mem_free(work->name);
    mem_free(work->base);
    mem_free(work->focus);
    mem_free(work->ignore);
    mem_free(work->wrappers);
}

/* ---- its computation ---- */

/* -1 with *err once it is cancelled. */
static int
enter(struct view_work *work, enum view_stage stage, struct error *err)
{
    atomic_store_explicit(&work->stage, stage, memory_order_relaxed);
    if (!atomic_load(&work->cancelled))
        return 0;
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return -1;
}

/* Another one may have the name by now: then it is that one's view, and no
 * longer what the key says. */
static struct snapshot *
load(struct view_work *work, struct store *store, const char *name,
     uint64_t serial, struct error *err)
{
    struct snapshot *snapshot = NULL;

    if (enter(work, VIEW_LOADING, err) == 0)
        snapshot = store_get(store, name, err);
    if (snapshot && snapshot->serial != serial)
        work->lasting = false;
    return snapshot;
}

/* now less base, as one profile. */
static struct profile *
compare(struct view_work *work, const struct snapshot *now,
        const struct snapshot *base, struct error *err)
{
    if (enter(work, VIEW_COMPARING, err) != 0 ||
        (!work->request.force && snapshot_comparable(now, base, err) != 0))
        return NULL;
    return diff_make_until(now->profile, base->profile, &work->cancelled, err);
}

static int
render(struct view_work *work, const struct snapshot *snapshot,
       const struct profile *profile, struct buffer *out, struct error *err)
{
    const struct view_form *form = work->request.form;

    if (enter(work, VIEW_RENDERING, err) != 0)
        return -1;
    return form ? form->render(profile, &work->options, out, err)
                : snapshot_export(snapshot, work->options.wrappers, out, err);
}

int
view_work_run(struct view_work *work, struct store *store, struct buffer *out,
              struct error *err)
{
    const struct view_request *request = &work->request;
    struct snapshot *now = NULL, *base = NULL;
    struct profile *difference = NULL;
    int rc = -1;

    now = request->name ? load(work, store, request->name, work->serial, err)
                        : snapshot_ref(request->snapshot);
    if (!now)
        goto out;
    if (request->base || request->before) {
        base = request->base
                   ? load(work, store, request->base, work->base_serial, err)
                   : snapshot_ref(request->before);
        difference = base ? compare(work, now, base, err) : NULL;
        if (!difference)
            goto out;
    }
    rc = render(work, now, difference ? difference : now->profile, out, err);
    if (rc == 0 && out->failed) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "the view is larger than %zu bytes, or memory ran out",
                  out->max);
        rc = -1;
    }
out:
    profile_free(difference);
    snapshot_unref(base);
    snapshot_unref(now);
    return rc;
}

void
view_work_progress(const struct view_work *work, struct progress *out)
{
    static const char *const texts[] = {[VIEW_LOADING] = "Reading the snapshot",
                                        [VIEW_COMPARING] =
                                            "Comparing the snapshots",
                                        [VIEW_RENDERING] = "Rendering"};
    enum view_stage stage =
        atomic_load_explicit(&work->stage, memory_order_relaxed);
    const struct view_form *form = work->request.form;
    bool loads = work->request.name != NULL;

    out->stages = 1u + loads + (work->request.base || work->request.before);
    out->stage = stage == VIEW_RENDERING   ? out->stages
                 : stage == VIEW_COMPARING ? 1u + loads
                                           : 1;
    out->percent = 0;
    out->text = texts[stage];
    if (stage == VIEW_RENDERING && form && form->by_graphviz)
        out->text = "Drawing with graphviz";
}
