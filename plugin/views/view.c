/*
 * view.c - see view.h: the table of forms, the key by which views are shared,
 * and the reference count of a rendered view.
 */
#include "view.h"

#include <stdatomic.h>
#include <string.h>

#include "calls.h"
#include "flamegraph.h"
#include "forms.h"
#include "memory.h"

/* ---- forms ---- */

const struct view_form view_forms[] = {
    {"dot", .takes_options = true, .render = dot_write},
    {"text", .takes_options = true, .render = text_write},
    {"top", .takes_options = true, .shows_full_names = true,
     .render = text_write_top},
    {"tree", .takes_options = true, .shows_full_names = true,
     .render = tree_write},
    {"collapsed", .takes_options = true, .shows_full_names = true,
     .render = collapsed_write},
    {"flamegraph", .binary = true, .takes_options = true,
     .shows_full_names = true, .text = true, .render = flamegraph_write},
    {"svg", .binary = true, .takes_options = true, .shows_full_names = true,
     .text = true, .by_graphviz = true, .render = graphviz_svg},
    {"pdf", .binary = true, .takes_options = true, .shows_full_names = true,
     .by_graphviz = true, .render = graphviz_pdf},
    {"calls", .binary = true, .takes_options = true, .shows_full_names = true,
     .text = true, .render = calls_write},
    {"pprof", .binary = true, .takes_options = true, .needs_source_lines = true,
     .shows_full_names = true, .render = pprof_write},
    {"raw", .render = raw_write},
    {"address_names", .shows_full_names = true, .render = raw_write_symbols},
};

const size_t view_form_count = sizeof(view_forms) / sizeof(view_forms[0]);

/* focus and ignore are matched with source lines, too. */
bool
view_needs_source_lines(const struct view_form *form,
                        const struct view_options *options)
{
    return form->needs_source_lines ||
           options->granularity != GRANULARITY_FUNCTIONS || options->focus ||
           options->ignore;
}

/* Short names (without arguments) take less time and memory; a form that shows
 * arguments needs whole ones, and so does a pattern. */
bool
view_takes_short_names(const struct view_form *form,
                       const struct view_options *options)
{
    return !form->shows_full_names && !view_needs_source_lines(form, options);
}

const struct view_form *
view_form_find(const char *name)
{
    for (size_t i = 0; i < view_form_count; i++)
        if (strcmp(view_forms[i].name, name) == 0)
            return &view_forms[i];
    return NULL;
}

/* ---- the key of a view ---- */

/* NULL and "" are different options. */
static void
add_view_key_text(struct buffer *key, const char *text)
{
    buffer_u8(key, text != NULL);
    buffer_lenenc_bytes(key, text ? text : "", text ? strlen(text) : 0);
}

/* Every option that changes the bytes must be here: a missing one would answer
 * a request with another one's view. */
void
view_key(struct buffer *key, const struct view_form *form,
         const struct view_options *options)
{
    add_view_key_text(key, options->wrappers);
    add_view_key_text(key, form ? form->name : NULL);
    if (!form || !form->takes_options)
        return;
    buffer_u8(key, (uint8_t)options->measure);
    buffer_u8(key, (uint8_t)options->granularity);
    buffer_u32(key, options->nodecount);
    buffer_double(key, options->nodefraction);
    buffer_double(key, options->edgefraction);
    buffer_u32(key, options->maxdegree);
    buffer_u8(key, options->allocator_frames);
    buffer_u8(key, options->show_bytes);
    buffer_u8(key, options->by_growth);
    buffer_u8(key, options->by_thread);
    buffer_u8(key, options->by_pool);
    add_view_key_text(key, options->focus);
    add_view_key_text(key, options->ignore);
}

/* ---- the text ---- */

static atomic_size_t alive; /* bytes of all finished views; orders nothing */

struct view *
view_new(size_t max)
{
    struct view *view = mem_zalloc(1, sizeof(*view));

    if (view) {
        view->references = 1;
        buffer_init(&view->bytes, max);
    }
    return view;
}

struct view *
view_ref(struct view *view)
{
    atomic_fetch_add_explicit(&view->references, 1, memory_order_relaxed);
    return view;
}

/* Release pairs with acquire: the thread that frees the view sees the uses of
 * all others as finished. */
void
view_unref(struct view *view)
{
    if (!view || atomic_fetch_sub_explicit(&view->references, 1,
                                           memory_order_acq_rel) > 1)
        return;
    atomic_fetch_sub_explicit(&alive, view->counted, memory_order_relaxed);
    buffer_fini(&view->bytes);
    mem_free(view);
}

void
view_finish(struct view *view)
{
    struct buffer *bytes = &view->bytes;
    char *data = mem_realloc(bytes->data, bytes->size + 1);

    /* shrinking may fail: then the view keeps its room, without a NUL */
    if (data) {
        bytes->data = data;
        bytes->data[bytes->size] = '\0';
        bytes->capacity = bytes->size + 1;
    }
    view->counted = bytes->capacity;
    atomic_fetch_add_explicit(&alive, view->counted, memory_order_relaxed);
}

size_t
view_bytes_alive(void)
{
    return atomic_load_explicit(&alive, memory_order_relaxed);
}
