/*
 * merge_sum.c - see merge_sum.h.
 *
 * Decides which locations of several processes are equal, and where each lies
 * in the sum.  In a file with a build-id, the offset in the file counts,
 * because every process maps the file elsewhere; a file without one belongs to
 * its process alone.  The first node that has a mapping keeps its addresses if
 * they are free, so that a sum of equal processes shows addresses that exist;
 * other mappings are moved above all that is there.
 *
 * Nodes may be wrong: sizes and addresses are limited, for made-up addresses
 * must not overflow.  Inner part of merge.c.
 */
#include "merge_sum.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "reader.h"
#include "errors.h"
#include "mappings.h"
#include "memory.h"
#include "merge.h"
#include "profile.h"
#include "texts.h"

/* Made-up addresses begin here unless a node has higher ones. */
#define LOWEST_TOP UINT64_C(0x10000)

static int
prepare_merge(struct merge *m)
{
    m->out = mem_zalloc(1, sizeof(*m->out));
    if (!m->out)
        return -1;
    m->arena = m->out->arena = arena_new(MERGE_MEMORY_MAX);
    if (!m->arena ||
        keyed_stacks_init(&m->keyed, m->arena, MERGE_MEMORY_MAX) != 0)
        return -1;
    m->module_keys = texts_new(m->keyed.scratch);
    m->builds = texts_new(m->keyed.scratch);
    m->notes = texts_new(m->keyed.scratch);
    m->programs = texts_new(m->keyed.scratch);
    return m->module_keys && m->builds && m->notes && m->programs ? 0 : -1;
}

struct merge *
merge_new(bool by_node, struct error *err)
{
    struct merge *m = mem_zalloc(1, sizeof(*m));

    if (m) {
        m->by_node = by_node;
        m->counts_ever = true;
        m->has_waste = true;
        m->top = LOWEST_TOP;
        if (prepare_merge(m) == 0)
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
    texts_free(m->module_keys);
    texts_free(m->builds);
    texts_free(m->notes);
    texts_free(m->programs);
    keyed_stacks_fini(&m->keyed);
    profile_free(m->out);
    mem_free(m->modules);
    mem_free(m->shares);
    mem_free(m);
}

/*
 * Finds equal locations of several processes, and their address in the sum; and
 * equal functions of several builds.  See merge_sum.h.
 *
 * In a file with a build-id, the address in the file counts.  The first node
 * that has a mapping keeps its addresses if they are free.
 */

enum { PAGE = 4096 };

/* No program's module is larger or lies higher: a node that says so is
 * wrong. */
#define SIZE_MAX_OF_MODULE (UINT64_C(1) << 40)
#define HIGHEST_ADDRESS    (UINT64_C(1) << 56)

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

/* Adds a module with its texts, at its own addresses or, if they are taken, at
 * the top. */
static int
add_module(struct merge *m, const struct profile_module *from)
{
    uint64_t size = from->end - from->start;
    struct profile_module *to =
        keyed_stacks_grow((void **)&m->modules, &m->module_capacity,
                          m->module_count, sizeof(*to));

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
    /* An unused page stays between two modules. */
    if (to->end > m->top)
        m->top = (to->end + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return 0;
}

/* Writes the key of a module's build.  A module without a build-id belongs to
 * its process alone, so the process's number is in its key. */
static void
key_build(struct merge *m, size_t part, const struct profile_module *module)
{
    buffer_clear(&m->keyed.key);
    keyed_stacks_key_text(&m->keyed, base_name(module->path));
    keyed_stacks_key_text(&m->keyed, module->build_id);
    if (!*module->build_id)
        buffer_u64(&m->keyed.key, part);
}

/* *index is SIZE_MAX if the module is refused: its size is wrong, or there are
 * too many. */
static int
find_or_add_merged_module(struct merge *m, size_t part,
                          const struct profile_module *module, size_t *index)
{
    uint64_t size = module->end - module->start;
    uint32_t number;

    *index = SIZE_MAX;
    if (size == 0 || size > SIZE_MAX_OF_MODULE)
        return 0;
    key_build(m, part, module);
    buffer_u64(&m->keyed.key, module->offset);
    buffer_u64(&m->keyed.key, size);
    if (!*module->build_id)
        buffer_u64(&m->keyed.key, module->start);
    if (m->module_count >= MERGE_MODULES_MAX)
        return 0;
    if (keyed_stacks_number(&m->keyed, m->module_keys, &number) != 0)
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
        keyed_stacks_key_text(&m->keyed, location->frames[i].function);
        keyed_stacks_key_text(&m->keyed, location->frames[i].file);
        buffer_u32(&m->keyed.key, location->frames[i].line);
    }
}

static int
locate_in_merged_module(struct merge *m, size_t part,
                        const struct profile_module *module,
                        const struct location *location,
                        struct keyed_location *out)
{
    uint64_t within = location->address - module->start;
    size_t index;

    if (find_or_add_merged_module(m, part, module, &index) != 0)
        return -1;
    key_build(m, part, module);
    if (keyed_stacks_number(&m->keyed, m->builds, &out->build) != 0)
        return -1;
    buffer_u64(&m->keyed.key, within + module->offset);
    out->has_address = index != SIZE_MAX;
    if (out->has_address)
        out->location.address = m->modules[index].start + within;
    return 0;
}

int
merge_locate(struct merge *m, const struct profile *profile, size_t part,
             const struct location *location, struct keyed_location *out)
{
    const struct profile_module *module =
        profile_module_find(profile, location->address);

    if (module && location->address <= INT64_MAX)
        return locate_in_merged_module(m, part, module, location, out);
    buffer_clear(&m->keyed.key);
    keyed_stacks_key_text(&m->keyed,
                          ""); /* a key of no file begins with an empty name */
    out->build = UINT32_MAX;
    buffer_u64(&m->keyed.key, location->address);
    out->has_address = location->address > INT64_MAX; /* the kernel's half */
    if (!out->has_address)
        key_names(m, location);
    return 0;
}

/* ---- functions of one name in different builds ---- */

/*
 * Within a build, the value of its symbol tells a function from others of its
 * name, and views show it where they must.  Another build has other values.  So
 * the n-th function of a name (by value, in one module and source file) counts
 * as the n-th of every build, and gets the value of the first build that came.
 */
struct sorted {
    struct location *location;
    const char *file; /* where the function is, without directories */
    uint32_t build;
};

/* Compares by name, module and file: what counts as one function.  Sorting
 * makes these neighbors. */
static int
compare_functions(const struct sorted *a, const struct sorted *b)
{
    int difference = strcmp(a->location->symbol, b->location->symbol);

    if (difference == 0)
        difference = strcmp(a->location->module, b->location->module);
    return difference ? difference : strcmp(a->file, b->file);
}

static int
compare_symbols_by_function(const void *x, const void *y)
{
    const struct sorted *a = x, *b = y;
    int difference = compare_functions(a, b);
    uint64_t i = a->location->symbol_start, k = b->location->symbol_start;

    if (difference)
        return difference;
    if (a->build != b->build)
        return a->build < b->build ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* Gives the functions of one name, from first to end, their common
 * symbol_start.  They are ordered by build and value; starts has room for
 * all. */
static void
match_symbol_starts(struct sorted *first, const struct sorted *end,
                    uint64_t *starts)
{
    size_t known = 0, nth = 0;
    uint64_t last = 0;

    for (struct sorted *at = first; at < end; at++) {
        uint64_t start = at->location->symbol_start;

        if (at == first || at->build != at[-1].build)
            nth = 0;
        else if (start != last)
            nth++;
        last = start;
        if (nth == known)
            starts[known++] = start;
        at->location->symbol_start = starts[nth];
    }
}

static void
match_all_symbols(struct sorted *list, size_t count, uint64_t *starts)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1;
             to < count && compare_functions(&list[from], &list[to]) == 0;)
            to++;
        match_symbol_starts(&list[from], &list[to], starts);
    }
}

int
merge_symbols(struct merge *m)
{
    struct sorted *list = mem_zalloc(m->keyed.location_count, sizeof(*list));
    uint64_t *starts = mem_zalloc(m->keyed.location_count, sizeof(*starts));
    size_t count = 0;
    int rc = -1;

    if (!list || !starts)
        goto out;
    for (size_t i = 0; i < m->keyed.location_count; i++) {
        struct location *location = &m->keyed.locations[i].location;

        if (!location->symbol)
            continue;
        list[count++] = (struct sorted){
            location,
            base_name(location->frames[location->frame_count - 1].file),
            m->keyed.locations[i].build};
    }
    if (count > 0)
        qsort(list, count, sizeof(*list), compare_symbols_by_function);
    match_all_symbols(list, count, starts);
    rc = 0;
out:
    mem_free(list);
    mem_free(starts);
    return rc;
}
