/*
 * index_units.c - see index_units.h.
 *
 * Reading a unit is most of the work and needs no lock, so up to 16 threads
 * each take the next unit; adding its facts to the builder is short, and under
 * one lock.  Ranges and rows are clipped to the addresses that the map of units
 * gives the unit, as dwarf_resolve() would answer them.  A unit that cannot be
 * read, or not completely for lack of memory, is left out: the index then says
 * "ask DWARF" there, and never a wrong name.
 */
#include "index_units.h"

#include <string.h>

#include "address_map.h"
#include "dwarf.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "hash.h"
#include "index_builder.h"
#include "line_table.h"
#include "memory.h"
#include "symbol_index.h"
#include "thread.h"
#include "unit_code.h"

enum { THREADS_MAX = 16, STACK = 256 << 10 };

/* The state of one thread. */
struct worker {
    struct index_units *all;
    struct unit_code code;
    struct line_table *lines; /* of the current unit */
    uint32_t
        *files; /* by the unit's number: the builder's + 1; 0: not asked yet */
    size_t file_count;
    const struct index_area *areas; /* areas of the current unit */
    size_t area_count;
    uint32_t *numbers; /* by the unit's node: the builder's number */
    pthread_t thread;
};

/* ---- names as in the debug information ---- */

enum { NAMES_MAX = 1 << 28 };

static void
raw_names_init(struct raw_names *names, struct dwarf_budget *budget)
{
    memset(names, 0, sizeof(*names));
    names->budget = budget;
}

static void
raw_names_fini(struct raw_names *names)
{
    if (!names->budget)
        return;
    dwarf_budget_drop(names->budget, &names->list, &names->capacity,
                      sizeof(*names->list));
    dwarf_budget_drop_index(names->budget, &names->index);
    names->count = 0;
}

/* The index of a text in the list; *added: it is new, and its name must be set.
 * UINT32_MAX: no room. */
static uint32_t
raw_names_add(struct raw_names *names, struct span text, bool linkage,
              bool *added)
{
    /* By address: .debug_str has each name once, and comparing texts would read
     * all of them. */
    uint32_t hash =
        (uint32_t)hash_mix(hash_seed(names), (uintptr_t)text.data) ^ linkage;
    const struct raw_name *known;
    struct hash_slot *slot;

    *added = false;
    if (!dwarf_budget_grow_index(names->budget, &names->index,
                                 names->count + 1))
        return UINT32_MAX;
    slot = hash_index_first(&names->index, hash);
    for (; slot->entry; slot = hash_index_next(&names->index, slot)) {
        known = &names->list[slot->entry - 1];
        if (known->text.data == text.data && known->text.size == text.size &&
            known->linkage == linkage)
            return slot->entry - 1;
    }
    if (names->count >= NAMES_MAX ||
        !dwarf_budget_grow(names->budget, &names->list, &names->capacity,
                           names->count + 1, sizeof(*names->list)))
        return UINT32_MAX;
    names->list[names->count] = (struct raw_name){text, 0, linkage};
    *slot = (struct hash_slot){(uint32_t)++names->count, hash};
    *added = true;
    return (uint32_t)names->count - 1;
}

/* ---- the units' areas ---- */

/* Sorts the map of all units by unit, by counting: the order within a unit
 * stays. */
static int
sort_areas(struct index_units *units, struct error *err)
{
    size_t map_count, count = dwarf_units_count(units->units);
    const struct address_range *map = dwarf_units_map(units->units, &map_count);
    uint32_t sum = 0;

    if (map_count > UINT32_MAX ||
        !dwarf_budget_grow(units->budget, &units->areas, &units->areas_capacity,
                           map_count, sizeof(*units->areas)) ||
        !dwarf_budget_grow(units->budget, &units->area_starts,
                           &units->area_starts_capacity, count + 1,
                           sizeof(*units->area_starts))) {
        error_memory(err, "the addresses of debug information's units");
        return -1;
    }
    units->area_count = map_count;
    memset(units->area_starts, 0, (count + 1) * sizeof(*units->area_starts));
    for (size_t i = 0; i < map_count; i++)
        units->area_starts[map[i].value]++;
    for (size_t i = 0; i <= count; i++) { /* counts become starts */
        uint32_t own = units->area_starts[i];

        units->area_starts[i] = sum;
        sum += own;
    }
    for (size_t i = 0; i < map_count; i++)
        units->areas[units->area_starts[map[i].value]++] =
            (struct index_area){map[i].start, map[i].end};
    /* By now each entry is the next unit's start: shifts them by one. */
    memmove(units->area_starts + 1, units->area_starts,
            count * sizeof(*units->area_starts));
    units->area_starts[0] = 0;
    return 0;
}

int
index_units_init(struct index_units *units,
                 const struct symbol_index_source *source,
                 struct index_builder *builder, struct dwarf_budget *budget,
                 struct error *err)
{
    units->source = source;
    units->sections = dwarf_get_sections(source->dwarf);
    units->units = dwarf_get_units(source->dwarf);
    units->budget = budget;
    units->builder = builder;
    pthread_mutex_init(&units->lock, NULL);
    raw_names_init(&units->names, budget);
    return sort_areas(units, err);
}

void
index_units_fini(struct index_units *units)
{
    if (!units->budget)
        return;
    raw_names_fini(&units->names);
    dwarf_budget_drop(units->budget, &units->areas, &units->areas_capacity,
                      sizeof(*units->areas));
    dwarf_budget_drop(units->budget, &units->area_starts,
                      &units->area_starts_capacity,
                      sizeof(*units->area_starts));
    dwarf_budget_drop(units->budget, &units->raw_of, &units->raw_of_capacity,
                      sizeof(*units->raw_of));
    pthread_mutex_destroy(&units->lock);
}

struct span
index_units_raw_name(const struct index_units *units, uint32_t node)
{
    return units->names.list[units->raw_of[node]].text;
}

/* ---- one unit, under the lock ---- */

/* The builder's number of a unit's file.  Composed once for each file of a
 * unit: rows repeat a few. */
static uint32_t
file_of(struct worker *w, uint32_t file)
{
    char path[LINE_PATH_MAX];
    struct span text = {path, 0};

    if (!w->files || file >= w->file_count)
        return 0;
    if (w->files[file] == 0) {
        text.size = line_table_file(w->lines, file, path);
        w->files[file] = index_builder_file(w->all->builder, text) + 1;
    }
    return w->files[file] - 1;
}

/* The number of a node's name; a new one is made readable for the builder. */
static uint32_t
number_node_name(struct index_units *all, const struct code_node *node)
{
    const struct symbol_index_source *source = all->source;
    struct span text = node->name;
    const char *readable;
    bool added;
    uint32_t raw = raw_names_add(&all->names, text, node->linkage, &added);

    if (raw == UINT32_MAX || !added)
        return raw;
    /* demangled once for all nodes of this name */
    readable = node->linkage ? source->readable(source->arg, text) : NULL;
    if (readable)
        text = (struct span){readable, strlen(readable)};
    all->names.list[raw].name = index_builder_name(all->builder, text);
    return raw;
}

/* Parents have lower numbers in the unit, so the parent's number is known. */
static bool
add_unit_node(struct worker *w, uint32_t i)
{
    struct index_units *all = w->all;
    const struct code_node *node = &w->code.nodes[i];
    struct index_node new = {.parent = INDEX_NONE,
                             .call_line = node->call_line,
                             .linkage = node->linkage,
                             .inlined = node->inlined};
    uint32_t raw = number_node_name(all, node), number;

    if (raw == UINT32_MAX)
        return false;
    if (node->parent != CODE_NONE) {
        new.parent = w->numbers[node->parent];
        new.call_file = file_of(w, node->call_file);
    }
    new.name = all->names.list[raw].name;
    number = index_builder_node(all->builder, &new);
    if (number == INDEX_NONE ||
        !dwarf_budget_grow(all->budget, &all->raw_of, &all->raw_of_capacity,
                           (size_t)number + 1, sizeof(*all->raw_of)))
        return false;
    all->raw_of[number] = raw;
    w->numbers[i] = number;
    return true;
}

/* Calls found for each part of the unit's ranges that lies in the unit's areas.
 * Both ascend. */
static bool
clip_ranges(struct worker *w, bool (*found)(struct worker *w, uint64_t start,
                                            uint64_t end, uint32_t node))
{
    size_t area = 0;

    for (size_t i = 0; i < w->code.range_count; i++) {
        const struct code_range *range = &w->code.ranges[i];

        while (area < w->area_count && w->areas[area].end <= range->start)
            area++;
        for (size_t k = area;
             k < w->area_count && w->areas[k].start < range->end; k++) {
            uint64_t start = w->areas[k].start, end = w->areas[k].end;

            if (!found(w, start > range->start ? start : range->start,
                       end < range->end ? end : range->end, range->node))
                return false;
        }
    }
    return true;
}

/* Marks a node and its parents as needed. */
static bool
mark_node(struct worker *w, uint64_t start, uint64_t end, uint32_t node)
{
    (void)start;
    (void)end;
    for (; node != CODE_NONE && w->numbers[node] == 0;
         node = w->code.nodes[node].parent)
        w->numbers[node] = 1;
    return true;
}

static bool
add_range(struct worker *w, uint64_t start, uint64_t end, uint32_t node)
{
    index_builder_range(w->all->builder, start, end, w->numbers[node]);
    return true;
}

/* Nodes before ranges, as ranges refer to their numbers; only nodes that some
 * range needs. */
static bool
add_code(struct worker *w)
{
    clip_ranges(w, mark_node);
    for (uint32_t i = 0; i < w->code.node_count; i++)
        if (w->numbers[i] && !add_unit_node(w, i))
            return false;
    return clip_ranges(w, add_range);
}

/* A line table may cover code of other units (discarded or shared sections):
 * only rows within the unit's areas count. */
static void
add_unit_rows(struct worker *w)
{
    size_t count, area = 0;
    const struct line_row *rows = line_table_rows(w->lines, &count);

    for (size_t i = 0; i + 1 < count; i++) {
        uint64_t start = rows[i].address, end = rows[i + 1].address;

        if (rows[i].file == LINE_END)
            continue;
        while (area < w->area_count && w->areas[area].end <= start)
            area++;
        for (size_t k = area; k < w->area_count && w->areas[k].start < end;
             k++) {
            const struct index_area *own = &w->areas[k];

            index_builder_row(w->all->builder,
                              own->start > start ? own->start : start,
                              own->end < end ? own->end : end,
                              file_of(w, rows[i].file), rows[i].line);
        }
    }
}

/* The index must say so: otherwise it would claim that these addresses have no
 * function. */
static void
leave_unit_out(struct worker *w)
{
    for (size_t i = 0; i < w->area_count; i++)
        index_builder_left_out(w->all->builder, w->areas[i].start,
                               w->areas[i].end);
    /* it may have any code: symbol_index_write.c leaves out all that no unit
     * has */
    if (w->area_count == 0)
        w->all->unplaced = true;
}

/* ---- one unit ---- */

/* A unit whose line table cannot be read has functions without lines. */
static void
read_lines(struct worker *w, const struct dwarf_unit *unit)
{
    if (unit->line.offset == UINT64_MAX)
        return;
    w->lines = line_table_new(w->all->sections, &unit->line, NULL);
    if (!w->lines)
        return;
    w->file_count = line_table_file_count(w->lines) + 1;
    w->files = mem_zalloc(w->file_count, sizeof(*w->files));
}

static void
add_unit_to_index(struct worker *w, size_t i)
{
    struct index_units *all = w->all;
    size_t refused =
        dwarf_budget_refusals(dwarf_sections_budget(all->sections));
    const struct dwarf_unit *unit = dwarf_units_get(all->units, i);
    bool known = unit->why == DWARF_KNOWN, ok = true;

    w->areas = all->areas + all->area_starts[i];
    w->area_count = all->area_starts[i + 1] - all->area_starts[i];
    /* another unit has all its addresses: nothing of it could be asked for */
    if (known && w->area_count == 0)
        return;
    known = known &&
            unit_code_read(all->units, unit, NULL, 0, &w->code, NULL) == 0 &&
            unit_code_flatten(&w->code, NULL) == 0;
    if (known) {
        read_lines(w, unit);
        /* A refusal means that names or lines may be missing: the unit is left
         * out. */
        known = dwarf_budget_refusals(dwarf_sections_budget(all->sections)) ==
                refused;
        w->numbers = mem_zalloc(w->code.node_count, sizeof(*w->numbers));
        ok = w->numbers && (w->files || !w->lines);
    }
    pthread_mutex_lock(&all->lock);
    if (!known)
        leave_unit_out(w);
    if (known && ok)
        ok = add_code(w);
    if (known && ok && w->lines)
        add_unit_rows(w);
    if (!ok || index_builder_failed(all->builder))
        all->failed = true;
    pthread_mutex_unlock(&all->lock);
    line_table_free(w->lines);
    mem_free(w->files);
    mem_free(w->numbers);
    w->lines = NULL;
    w->files = NULL;
    w->numbers = NULL;
}

static bool
has_unit_failed(struct index_units *all)
{
    bool failed;

    pthread_mutex_lock(&all->lock);
    failed = all->failed;
    pthread_mutex_unlock(&all->lock);
    return failed;
}

static void *
run_index_worker(void *arg)
{
    struct worker *w = arg;
    size_t i, count = dwarf_units_count(w->all->units);

    /* Relaxed: the units were complete before the threads started. */
    while ((i = atomic_fetch_add_explicit(&w->all->next, 1,
                                          memory_order_relaxed)) < count &&
           !has_unit_failed(w->all))
        add_unit_to_index(w, i);
    unit_code_fini(&w->code);
    return NULL;
}

static unsigned
index_thread_count(const struct index_units *units)
{
    size_t count = dwarf_units_count(units->units);
    unsigned wanted = thread_cores();

    if (wanted > THREADS_MAX)
        wanted = THREADS_MAX;
    return wanted > count ? (unsigned)count : wanted;
}

/* This thread is the first worker; others help if they can be started. */
int
index_units_read(struct index_units *units, struct error *err)
{
    struct worker workers[THREADS_MAX] = {0};
    struct thread_start start = {
        .name = "hw-index", .stack_bytes = STACK, .body = run_index_worker};
    unsigned wanted = index_thread_count(units), count = 1;

    workers[0].all = units;
    for (; count < wanted; count++) {
        workers[count].all = units;
        start.arg = &workers[count];
        if (thread_start(&workers[count].thread, &start, NULL) != 0)
            break;
    }
    run_index_worker(&workers[0]);
    for (unsigned i = 1; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    if (!units->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the symbol index needs more memory than it may have");
    return -1;
}
