/* merge_sum.c - see merge_sum.h. */
#include "merge_sum.h"

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "merge.h"
#include "profile.h"
#include "texts.h"

enum { KEY_MAX = 1 << 20, FIRST_ROOM = 64 };

/* Made-up addresses begin here unless a node has higher ones. */
#define LOWEST_TOP UINT64_C(0x10000)

void *
merge_room(void **list, size_t *room, size_t count, size_t item)
{
    size_t more = *room ? *room * 2 : FIRST_ROOM;
    void *grown;

    if (count == *room) {
        grown = mem_realloc(*list, more * item);
        if (!grown)
            return NULL;
        *list = grown;
        *room = more;
    }
    return (char *)*list + count * item;
}

int
merge_number(struct merge *m, struct texts *texts, uint32_t *number)
{
    if (m->key.failed)
        return -1;
    return texts_add(texts, m->key.data ? m->key.data : "", m->key.size,
                     number);
}

static int
make(struct merge *m)
{
    m->out = mem_zalloc(1, sizeof(*m->out));
    if (!m->out)
        return -1;
    m->arena = m->out->arena = arena_new(MERGE_MEMORY_MAX);
    m->scratch = arena_new(MERGE_MEMORY_MAX);
    if (!m->arena || !m->scratch)
        return -1;
    m->texts = texts_new(m->arena);
    m->location_keys = texts_new(m->scratch);
    m->stack_keys = texts_new(m->scratch);
    m->module_keys = texts_new(m->scratch);
    m->builds = texts_new(m->scratch);
    m->notes = texts_new(m->scratch);
    m->programs = texts_new(m->scratch);
    return m->texts && m->location_keys && m->stack_keys && m->module_keys &&
                   m->builds && m->notes && m->programs
               ? 0
               : -1;
}

struct merge *
merge_new(bool by_node, struct error *err)
{
    struct merge *m = mem_zalloc(1, sizeof(*m));

    if (m) {
        m->by_node = by_node;
        m->counts_ever = true;
        m->top = LOWEST_TOP;
        buffer_init(&m->key, KEY_MAX);
        if (make(m) == 0)
            return m;
    }
    error_memory(err, "the sum of profiles");
    merge_free(m);
    return NULL;
}

void
merge_free(struct merge *m)
{
    if (!m)
        return;
    texts_free(m->texts);
    texts_free(m->location_keys);
    texts_free(m->stack_keys);
    texts_free(m->module_keys);
    texts_free(m->builds);
    texts_free(m->notes);
    texts_free(m->programs);
    profile_free(m->out);
    arena_free(m->scratch);
    buffer_fini(&m->key);
    mem_free(m->locations);
    mem_free(m->stacks);
    mem_free(m->modules);
    mem_free(m->shares);
    mem_free(m);
}
