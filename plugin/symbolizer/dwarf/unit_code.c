/*
 * unit_code.c - see unit_code.h.
 *
 * A unit of a large program has a million entries, of which a few thousand are
 * functions or inlined calls.  Walking is bound by memory, so entries are read
 * through a window on .debug_info that holds a whole unit if it can (entries
 * refer back to others), but is filled step by step: just-copied bytes are
 * walked while they are in the cache.  An entry that does not fit into the rest
 * of the window is read again when there is more.  Plain entries are skipped by
 * entry_pass(); the rest goes through walk_entry().  Each thread of dwarf.c and
 * of the index maker has its own scratch.
 */
#include "unit_code.h"

#include <string.h>

#include "address_map.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"
#include "errors.h"
#include "memory.h"
#include "unit_name.h"
#include "unit_root.h"

enum {
    WINDOW = 1 << 17,    /* bytes read in one step */
    WINDOW_MAX = 2 << 20 /* bytes held of one unit at most */
};

struct unit_scratch {
    struct dwarf_units *units;
    struct abbrev_cache abbrevs;
    struct name_reader names;
    struct range_window range_lists;
    uint8_t *window;
    size_t window_capacity;
    size_t node_capacity, range_capacity;
    uint32_t scopes[CODE_DEPTH_MAX];
};

struct walk {
    struct dwarf_sections *sections;
    const struct dwarf_unit *unit;
    const uint64_t *addresses;
    size_t address_count;
    const struct abbrev_table *table;
    struct unit_code *out;
    struct unit_scratch *scratch;
    struct reader r;
    const uint8_t *bytes; /* the window's bytes; r reads up to their end */
    uint64_t offset, end; /* offset of the window, end of the unit */
    uint64_t ranges_read; /* items of range lists so far, ranges or not */
    bool names_last;      /* names are read last, when the whole unit is held */
    struct error *err;
};

static int
fail_unit_walk(struct walk *w, enum dwarf_why why, const char *what)
{
    w->out->why = (uint8_t)why;
    if (why == DWARF_OVER_BUDGET)
        error_set(w->err, ER_OUT_OF_MEMORY,
                  "no room for %s of a unit of debug information", what);
    else
        error_set(w->err, ER_UNKNOWN,
                  "the unit at %llu of .debug_info cannot be read: %s",
                  (unsigned long long)w->unit->offset, what);
    return -1;
}

/* ---- the window ---- */

/* must: without this size the walk fails, which counts as a refusal. */
static int
grow_code_window(struct walk *w, size_t size, bool must)
{
    struct unit_scratch *s = w->scratch;

    if (size <= s->window_capacity)
        return 0;
    dwarf_budget_drop(dwarf_sections_budget(w->sections), &s->window,
                      &s->window_capacity, 1);
    s->names.near_size = 0;
    if (must ? !dwarf_budget_take(dwarf_sections_budget(w->sections), size)
             : !dwarf_budget_try(dwarf_sections_budget(w->sections), size))
        return -1;
    s->window = mem_alloc(size);
    if (!s->window) {
        dwarf_budget_give(dwarf_sections_budget(w->sections), size);
        return -1;
    }
    s->window_capacity = size;
    return 0;
}

/* Reads the next size bytes behind those that are held. */
static int
fill_entry_window(struct walk *w, uint64_t held, uint64_t size)
{
    struct unit_scratch *s = w->scratch;

    s->names.near_size = 0;
    if (dwarf_section_read(w->sections, DWARF_INFO, w->offset + held, size,
                           s->window + held, w->err) != 0) {
        w->bytes = NULL;
        w->out->why = w->err->code == ER_OUT_OF_MEMORY ? DWARF_OVER_BUDGET
                                                       : DWARF_DAMAGED;
        return -1;
    }
    s->names.near = s->window;
    s->names.near_offset = w->offset;
    s->names.near_size = held + size;
    return 0;
}

/* Moves on to offset, with at least size bytes from there, or all there are.
 * If the buffer has room, bytes are added behind the held ones, so that names
 * of earlier entries can still be read from it. */
static int
move_entry_window(struct walk *w, uint64_t offset, uint64_t size)
{
    uint64_t left = w->end - offset, held, end;

    size = size < WINDOW ? WINDOW : size;
    size = size < left ? size : left;
    if (w->bytes) {
        held = (uint64_t)(w->r.end - w->bytes);
        end = offset - w->offset + size;
        if (offset <= w->offset + held && end < held + WINDOW)
            end = held + WINDOW; /* so that each step is worth a read */
        if (end > w->end - w->offset)
            end = w->end - w->offset;
        if (offset <= w->offset + held + WINDOW &&
            end <= w->scratch->window_capacity) {
            if (fill_entry_window(w, held, end - held) != 0)
                return -1;
            w->r = reader_of(w->bytes + (offset - w->offset),
                             end - (offset - w->offset));
            return 0;
        }
    }
    w->bytes = NULL;
    if (grow_code_window(w, size, true) != 0)
        return fail_unit_walk(w, DWARF_OVER_BUDGET, "the entries");
    w->offset = offset;
    if (fill_entry_window(w, 0, size) != 0)
        return -1;
    w->bytes = w->scratch->window;
    w->r = reader_of(w->bytes, size);
    return 0;
}

static uint64_t
debug_info_offset(const struct walk *w, const uint8_t *pos)
{
    return w->offset + (uint64_t)(pos - w->bytes);
}

/* The entry at pos passes the window's end: moves on, with twice as many bytes,
 * to read it again. */
static int
reread_window_entry(struct walk *w, const uint8_t *pos)
{
    if (debug_info_offset(w, w->r.end) == w->end)
        return fail_unit_walk(w, DWARF_DAMAGED, "an entry runs past its end");
    return move_entry_window(w, debug_info_offset(w, pos),
                             (uint64_t)(w->r.end - pos) * 2);
}

/* ---- nodes and ranges ---- */

static int
grow_unit_code_array(struct walk *w, void *array, size_t count,
                     size_t *capacity, size_t size, size_t max)
{
    if (count < max && dwarf_budget_grow(dwarf_sections_budget(w->sections),
                                         array, capacity, count + 1, size))
        return 0;
    return fail_unit_walk(w, DWARF_OVER_BUDGET, "the functions");
}

/* Keeps a range of the node that will be added next, if it has any of the
 * addresses. */
static int
keep_node_range(struct walk *w, uint64_t start, uint64_t end)
{
    struct unit_code *out = w->out;
    size_t low = 0, high = w->address_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->addresses[middle] < start)
            low = middle + 1;
        else
            high = middle;
    }
    if (w->addresses && (low == w->address_count || w->addresses[low] >= end))
        return 0;
    if (grow_unit_code_array(w, &out->ranges, out->range_count,
                             &w->scratch->range_capacity, sizeof(*out->ranges),
                             CODE_RANGES_MAX) != 0)
        return -1;
    out->ranges[out->range_count++] =
        (struct code_range){start, end, (uint32_t)out->node_count};
    return 0;
}

/* Keeps an entry's ranges; *any: it has some, with or without asked
 * addresses. */
static int
keep_ranges(struct walk *w, const struct code_entry *e, bool *any)
{
    struct range_list list;
    uint64_t start, end;

    *any = true;
    if (e->ranges.form != 0) {
        if (!range_list_open(&list, w->sections, &w->scratch->range_lists,
                             w->unit, &e->ranges))
            return 0;
        while (range_list_next(&list, &start, &end))
            if (keep_node_range(w, start, end) != 0)
                return -1;
        /* A hostile file may have many entries refer to the same long list. */
        w->ranges_read += list.items;
        if (w->ranges_read > CODE_RANGES_MAX)
            return fail_unit_walk(w, DWARF_DAMAGED, "its ranges do not end");
        return 0;
    }
    if (!form_address(w->sections, w->unit, &e->low_pc, &start) ||
        e->high_pc.form == 0) {
        *any = false;
        return 0;
    }
    if (!form_address(w->sections, w->unit, &e->high_pc, &end))
        end = start + e->high_pc.number;
    return range_is_code(start, end) ? keep_node_range(w, start, end) : 0;
}

static uint32_t
form_value_u32(const struct form_value *value)
{
    return value->number <= UINT32_MAX ? (uint32_t)value->number : 0;
}

/* A function that is not inlined has no parent, even inside another one (a
 * lambda): it has frames of its own. */
static int
keep_node(struct walk *w, const struct code_entry *e, uint64_t entry,
          bool inlined, uint32_t parent)
{
    struct unit_code *out = w->out;
    struct code_node *node;

    if (grow_unit_code_array(w, &out->nodes, out->node_count,
                             &w->scratch->node_capacity, sizeof(*out->nodes),
                             CODE_NODES_MAX) != 0)
        return -1;
    node = &out->nodes[out->node_count++];
    node->entry = entry;
    node->parent = inlined ? parent : CODE_NONE;
    node->call_file = form_value_u32(&e->call_file);
    node->call_line = form_value_u32(&e->call_line);
    node->inlined = inlined;
    node->name = (struct span){"", 0};
    node->linkage = false;
    if (!w->names_last)
        unit_name(&w->scratch->names, w->unit, &e->names, &node->name,
                  &node->linkage);
    return 0;
}

/* ---- the walk ---- */

/* No asked address is inside: moves on to the entry's sibling, if it has
 * one. */
static int
skip_inside(struct walk *w, uint64_t sibling, uint64_t *depth)
{
    uint64_t at = debug_info_offset(w, w->r.pos);

    /* Only forward, or looping entries would never end. */
    sibling += w->unit->offset;
    if (sibling < at || sibling >= w->end)
        return 0;
    (*depth)--;
    if (sibling - w->offset <= (uint64_t)(w->r.end - w->bytes)) {
        w->r.pos = w->bytes + (sibling - w->offset);
        return 0;
    }
    return move_entry_window(w, sibling, 0);
}

/* Reads an entry with code, inside scope; *scope becomes its children's.  Fails
 * r if the entry does not fit into the window: the caller reads it again. */
static int
read_scope_entry(struct walk *w, const struct abbrev *a, uint64_t entry,
                 uint32_t *scope, uint64_t *sibling)
{
    size_t ranges = w->out->range_count;
    struct code_entry e;
    bool any;

    code_entry_read(&w->r, w->unit, abbrev_attrs(w->table, a), a->count, &e);
    e.names.bytes = w->bytes;
    e.names.offset = w->offset;
    if (w->r.failed)
        return 0;
    *sibling = e.sibling.form == DW_FORM_ref4 ? e.sibling.number : 0;
    if (keep_ranges(w, &e, &any) != 0)
        return -1;
    /* A function without ranges (abstract, or an outer scope) may contain
     * others that have ranges; one whose ranges have no asked address, or were
     * discarded, may not. */
    if (any && w->out->range_count == ranges) {
        *scope = SCOPE_IDLE;
        return 0;
    }
    if (keep_node(w, &e, entry, a->inlined, *scope) != 0)
        return -1;
    *scope = (uint32_t)(w->out->node_count - 1);
    return 0;
}

/* Skips an entry.  Of inlined code where no address is asked, only the sibling
 * matters: it leads past all that is inside. */
static void
skip_entry(struct walk *w, const struct abbrev *a, uint64_t *sibling)
{
    struct reader at = w->r;

    if (a->inlined && a->children && a->sibling != ABBREV_NOWHERE) {
        dwarf_skip(&at, a->sibling);
        *sibling = dwarf_number(&at, 4);
    }
    abbrev_skip(&w->r, w->unit, abbrev_attrs(w->table, a), a->count);
}

/* Skips the many entries that need no closer look. */
static uint64_t
skip_plain_entries(struct walk *w, uint64_t depth)
{
    const struct entry_pass pass = {.table = w->table,
                                    .unit = w->unit,
                                    .bytes = w->bytes,
                                    .offset = w->offset,
                                    .last = debug_info_offset(w, w->r.end) ==
                                            w->end,
                                    .scopes = w->scratch->scopes};

    return entry_pass(&pass, &w->r, depth);
}

/* Reads one entry. 1: *depth is the next one's; 0: the entries end. */
static int
walk_entry(struct walk *w, uint64_t *depth)
{
    const uint8_t *pos = w->r.pos;
    uint64_t code = reader_uleb(&w->r), entry = debug_info_offset(w, pos),
             sibling = 0;
    uint32_t scope = w->scratch->scopes[*depth];
    const struct abbrev *a;
    int rc = 0;

    if (code == 0 && !w->r.failed) {
        *depth -= *depth > 0;
        return *depth > 0;
    }
    a = abbrev_find(w->table, code);
    if (!a && !w->r.failed)
        return fail_unit_walk(w, DWARF_DAMAGED,
                              "an entry without abbreviation");
    if (!w->r.failed && (a->function || (a->inlined && scope != SCOPE_IDLE)))
        rc = read_scope_entry(w, a, entry, &scope, &sibling);
    else if (!w->r.failed)
        skip_entry(w, a, &sibling);
    if (w->r.failed)
        return reread_window_entry(w, pos) == 0 ? 1 : -1;
    if (rc != 0 || !a->children)
        return rc == 0 ? *depth > 0 : -1;
    if (*depth + 1 == CODE_DEPTH_MAX)
        return fail_unit_walk(w, DWARF_DAMAGED, "its entries nest too deep");
    w->scratch->scopes[++*depth] = scope;
    if (scope == SCOPE_IDLE && a->inlined && sibling != 0 &&
        skip_inside(w, sibling, depth) != 0)
        return -1;
    return 1;
}

static int
walk_entries(struct walk *w)
{
    uint64_t depth = 0;
    int rc = 1;

    w->scratch->scopes[0] = CODE_NONE;
    while (rc > 0) {
        if (w->r.end - w->r.pos < PASS_MARGIN &&
            debug_info_offset(w, w->r.end) < w->end &&
            move_entry_window(w, debug_info_offset(w, w->r.pos), 0) != 0)
            return -1;
        if (depth > 0)
            depth = skip_plain_entries(w, depth);
        /* Some compilers end a unit without closing its entries. */
        rc = w->r.pos < w->r.end ? walk_entry(w, &depth) : 0;
    }
    return rc;
}

/* Names all nodes at the end, since entries may refer to later ones. */
static void
name_nodes(struct walk *w)
{
    for (size_t i = 0; i < w->out->node_count; i++) {
        struct code_node *node = &w->out->nodes[i];

        unit_name_at(&w->scratch->names, w->unit, node->entry, &node->name,
                     &node->linkage);
    }
}

static struct unit_scratch *
scratch_of(struct dwarf_units *units, struct unit_code *out)
{
    struct unit_scratch *s = out->scratch;

    if (!s) {
        s = mem_zalloc(1, sizeof(*s));
        if (s && name_reader_init(&s->names, units, &s->abbrevs) != 0) {
            mem_free(s);
            s = NULL;
        }
        if (s)
            s->units = units;
        out->scratch = s;
    }
    return s;
}

int
unit_code_read(struct dwarf_units *units, const struct dwarf_unit *unit,
               const uint64_t *addresses, size_t address_count,
               struct unit_code *out, struct error *err)
{
    struct walk w = {.sections = dwarf_units_sections(units),
                     .unit = unit,
                     .addresses = addresses,
                     .address_count = address_count,
                     .out = out,
                     .end = unit->offset + unit->size,
                     .err = err};
    struct error ignored;
    uint64_t rest;
    int rc;

    if (!err)
        w.err = err = &ignored;
    out->node_count = out->range_count = 0;
    out->why = unit->why;
    w.scratch = scratch_of(units, out);
    if (!w.scratch)
        return fail_unit_walk(&w, DWARF_OVER_BUDGET, "the functions");
    if (unit->why != DWARF_KNOWN)
        return fail_unit_walk(&w, (enum dwarf_why)unit->why,
                              "its kind is not known");
    if (unit->type == DW_UT_type || unit->entries >= w.end)
        return 0;
    w.table = abbrev_cache_get(&w.scratch->abbrevs, w.sections, unit, err);
    if (!w.table) {
        out->why =
            err->code == ER_OUT_OF_MEMORY ? DWARF_OVER_BUDGET : DWARF_DAMAGED;
        return -1;
    }
    if (w.table->alternative)
        return fail_unit_walk(&w, DWARF_ALTERNATIVE,
                              "it refers to another file");
    /* names of other units' entries use the same cache */
    w.scratch->abbrevs.pinned = w.table;
    rest = w.end - unit->entries;
    (void)grow_code_window(&w, rest < WINDOW_MAX ? rest : WINDOW_MAX, false);
    /* else earlier entries have left the window when names are read */
    w.names_last = rest <= w.scratch->window_capacity;
    rc = move_entry_window(&w, unit->entries, 0);
    if (rc == 0)
        rc = walk_entries(&w);
    if (w.names_last)
        name_nodes(&w);
    w.scratch->names.near_size = 0;
    w.scratch->abbrevs.pinned = NULL;
    return rc;
}

int
unit_code_flatten(struct unit_code *code, struct error *err)
{
    struct address_range *ranges = NULL, *map = NULL;
    size_t count = 0, size = code->range_count * 3 * sizeof(*ranges);
    struct dwarf_sections *sections;
    struct walk w = {.out = code, .scratch = code->scratch, .err = err};
    int rc = -1;

    if (code->range_count == 0)
        return 0;
    sections = w.sections = dwarf_units_sections(code->scratch->units);
    if (!dwarf_budget_take(dwarf_sections_budget(sections), size))
        return fail_unit_walk(&w, DWARF_OVER_BUDGET, "the functions");
    ranges = mem_zalloc(code->range_count, sizeof(*ranges));
    for (size_t i = 0; ranges && i < code->range_count; i++) {
        const struct code_range *from = &code->ranges[i];

        /* rank: the size, so that the innermost wins; of equal sizes the later
         * node, by a smaller value */
        ranges[i] = (struct address_range){from->start, from->end,
                                           from->end - from->start,
                                           UINT32_MAX - from->node};
    }
    if (ranges)
        map = address_map_make(ranges, code->range_count, &count);
    if (!map) {
        fail_unit_walk(&w, DWARF_OVER_BUDGET, "the functions");
        goto out;
    }
    code->range_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (grow_unit_code_array(&w, &code->ranges, code->range_count,
                                 &code->scratch->range_capacity,
                                 sizeof(*code->ranges), CODE_RANGES_MAX) != 0)
            goto out;
        code->ranges[code->range_count++] = (struct code_range){
            map[i].start, map[i].end, UINT32_MAX - map[i].value};
    }
    rc = 0;
out:
    mem_free(ranges);
    mem_free(map);
    dwarf_budget_give(dwarf_sections_budget(sections), size);
    return rc;
}

void
unit_code_fini(struct unit_code *code)
{
    struct unit_scratch *s = code->scratch;
    struct dwarf_budget *budget;

    if (s) {
        budget = dwarf_sections_budget(dwarf_units_sections(s->units));
        dwarf_budget_drop(budget, &s->window, &s->window_capacity, 1);
        dwarf_budget_drop(budget, &code->nodes, &s->node_capacity,
                          sizeof(*code->nodes));
        dwarf_budget_drop(budget, &code->ranges, &s->range_capacity,
                          sizeof(*code->ranges));
        name_reader_fini(&s->names);
        abbrev_cache_fini(&s->abbrevs);
        mem_free(s);
    }
    memset(code, 0, sizeof(*code));
}
