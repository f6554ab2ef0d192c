/* view_kept.c - see view_kept.h. */
#include "view_kept.h"

#include <stdatomic.h>
#include <string.h>

#include "memory.h"

struct kept_view {
    struct kept_view *next;
    struct buffer key;
    struct view *view;
};

static atomic_size_t alive; /* bytes: a count, and no more */

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
    __atomic_add_fetch(&view->references, 1, __ATOMIC_RELAXED);
    return view;
}

/* Release pairs with acquire: the thread that frees has seen all uses end. */
void
view_unref(struct view *view)
{
    if (!view || __atomic_sub_fetch(&view->references, 1, __ATOMIC_ACQ_REL) > 0)
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

static size_t
bytes_of(const struct kept_view *kept)
{
    return sizeof(*kept) + kept->key.capacity + kept->view->bytes.capacity;
}

struct view *
view_kept_find(struct view_kept *kept, const struct buffer *key)
{
    for (struct kept_view **at = &kept->first; *at; at = &(*at)->next) {
        struct kept_view *found = *at;

        if (found->key.size != key->size ||
            memcmp(found->key.data, key->data, key->size) != 0)
            continue;
        *at = found->next;
        found->next = kept->first;
        kept->first = found;
        return found->view;
    }
    return NULL;
}

static void
drop_last(struct view_kept *kept)
{
    struct kept_view **at = &kept->first, *last;

    while ((*at)->next)
        at = &(*at)->next;
    last = *at;
    *at = NULL;
    kept->count--;
    kept->bytes -= bytes_of(last);
    view_unref(last->view);
    buffer_fini(&last->key);
    mem_free(last);
}

void
view_kept_add(struct view_kept *kept, struct buffer *key, struct view *view)
{
    struct kept_view *new;

    if (view->bytes.capacity > VIEW_KEPT_VIEW_MAX)
        return;
    new = mem_zalloc(1, sizeof(*new));
    if (!new)
        return;
    new->key = *key;
    memset(key, 0, sizeof(*key));
    new->view = view_ref(view);
    new->next = kept->first;
    kept->first = new;
    kept->count++;
    kept->bytes += bytes_of(new);
    while (kept->count > VIEW_KEPT_COUNT_MAX ||
           kept->bytes > VIEW_KEPT_BYTES_MAX)
        drop_last(kept);
}

void
view_kept_fini(struct view_kept *kept)
{
    while (kept->first)
        drop_last(kept);
}
