/*
 * merge_place.c - finds equal locations of several processes, and their address
 * in the sum.  See merge_sum.h.
 *
 * In a file with a build-id, the place in the file counts.  The first node that
 * has a mapping keeps its addresses if they are free.
 */
#include "merge_sum.h"

#include <string.h>

#include "arena.h"
#include "mappings.h"
#include "merge.h"
#include "profile.h"
#include "texts.h"

enum { PAGE = 4096 };

/* No program's module is larger or higher: such a number of another node is
 * wrong. */
#define SIZE_MAX_OF_MODULE (UINT64_C(1) << 40)
#define HIGHEST_ADDRESS    (UINT64_C(1) << 56)

static void
key_text(struct merge *m, const char *text)
{
    buffer_add(&m->key, text, strlen(text) + 1);
}

/* ---- modules ---- */

static bool
is_free(const struct merge *m, uint64_t start, uint64_t end)
{
    if (end > HIGHEST_ADDRESS)
        return false;
    for (size_t i = 0; i < m->module_count; i++)
        if (start < m->modules[i].end && m->modules[i].start < end)
            return false;
    return true;
}

/* Its texts still belong to the other profile. */
static int
add_module(struct merge *m, const struct profile_module *from)
{
    uint64_t size = from->end - from->start;
    struct profile_module *to = merge_room(
        (void **)&m->modules, &m->module_room, m->module_count, sizeof(*to));

    if (!to)
        return -1;
    *to = *from;
    if (!is_free(m, from->start, from->end)) {
        to->start = m->top;
        to->end = m->top + size;
    }
    to->path = arena_strndup(m->arena, from->path, strlen(from->path));
    to->build_id =
        arena_strndup(m->arena, from->build_id, strlen(from->build_id));
    if (!to->path || !to->build_id)
        return -1;
    m->module_count++;
    if (to->end > m->top)
        m->top = (to->end + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return 0;
}

/* A module without a build-id belongs to its process alone. */
static void
key_build(struct merge *m, size_t part, const struct profile_module *module)
{
    buffer_clear(&m->key);
    key_text(m, mapping_basename(module->path));
    key_text(m, module->build_id);
    if (!*module->build_id)
        buffer_u64(&m->key, part);
}

/* *index is SIZE_MAX if the module gets no place. */
static int
place_module(struct merge *m, size_t part, const struct profile_module *module,
             size_t *index)
{
    uint64_t size = module->end - module->start;
    uint32_t number;

    *index = SIZE_MAX;
    if (size == 0 || size > SIZE_MAX_OF_MODULE)
        return 0;
    key_build(m, part, module);
    buffer_u64(&m->key, module->offset);
    buffer_u64(&m->key, size);
    if (!*module->build_id)
        buffer_u64(&m->key, module->start);
    if (m->module_count >= MERGE_MODULES_MAX)
        return 0;
    if (merge_number(m, m->module_keys, &number) != 0)
        return -1;
    if (number == m->module_count && add_module(m, module) != 0)
        return -1;
    *index = number;
    return 0;
}

/* ---- locations ---- */

static void
key_names(struct merge *m, const struct location *location)
{
    for (uint32_t i = 0; i < location->frame_count; i++) {
        key_text(m, location->frames[i].function);
        key_text(m, location->frames[i].file);
        buffer_u32(&m->key, location->frames[i].line);
    }
}

static int
place_mapped(struct merge *m, size_t part, const struct profile_module *module,
             const struct location *location, struct merge_location *out)
{
    uint64_t within = location->address - module->start;
    size_t index;

    if (place_module(m, part, module, &index) != 0)
        return -1;
    key_build(m, part, module);
    if (merge_number(m, m->builds, &out->build) != 0)
        return -1;
    buffer_u64(&m->key, within + module->offset);
    out->placed = index != SIZE_MAX;
    if (out->placed)
        out->location.address = m->modules[index].start + within;
    return 0;
}

int
merge_place(struct merge *m, const struct profile *profile, size_t part,
            const struct location *location, struct merge_location *out)
{
    const struct profile_module *module =
        profile_module_find(profile, location->address);

    if (module && location->address <= INT64_MAX)
        return place_mapped(m, part, module, location, out);
    buffer_clear(&m->key);
    key_text(m, ""); /* of no file */
    out->build = UINT32_MAX;
    buffer_u64(&m->key, location->address);
    out->placed = location->address > INT64_MAX; /* the kernel's half */
    if (!out->placed)
        key_names(m, location);
    return 0;
}
