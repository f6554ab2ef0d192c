/*
 * abbrev_table.c - see abbrev_table.h.
 *
 * Each entry of .debug_info names an abbreviation, which lists its attributes
 * and their forms; without it an entry cannot even be skipped.  A walk skips
 * nearly all of millions of entries, so what is needed for that is worked out
 * once for each abbreviation: how many bytes to skip, whether there are
 * children, where a DW_AT_sibling lies.  Compilers make one table for each
 * unit; dwz and LTO share them, hence the cache.  Each thread has its own
 * cache, charged to the budget.
 */
#include "abbrev_table.h"

#include <stdlib.h>
#include <string.h>

#include "dwarf_reader.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"
#include "errors.h"
#include "search.h"

enum { FIRST_WINDOW = 1 << 14, WINDOW_GROWTH = 4 };

/* Makes room for one more item; false: no memory. */
static bool
grow_abbrev_array(const struct abbrev_table *t, void *array, size_t count,
                  size_t *capacity, size_t size)
{
    return dwarf_budget_grow(dwarf_sections_budget(t->sections), array,
                             capacity, count + 1, size);
}

bool
abbrev_next_attr(struct reader *r, struct abbrev_attr *attr)
{
    uint64_t name = reader_uleb(r), form = reader_uleb(r);

    attr->implicit =
        form == DW_FORM_implicit_const ? (uint64_t)reader_sleb(r) : 0;
    attr->name = name <= UINT16_MAX ? (uint16_t)name : 0;
    attr->form = form <= UINT16_MAX ? (uint16_t)form : 0;
    return !r->failed && (name != 0 || form != 0);
}

/* Reads an abbreviation. 1: read; 0: the table ends; -1: no memory. */
static int
read_abbrev(struct abbrev_table *t, struct reader *r,
            const struct dwarf_unit *unit)
{
    struct abbrev a = {.code = reader_uleb(r), .sibling = ABBREV_NOWHERE};
    struct abbrev_attr attr;
    uint64_t tag;
    bool addresses = false;
    unsigned size, before = 0; /* bytes of the attributes so far, while these
                                * are of fixed size */

    if (r->failed || a.code == 0)
        return 0;
    tag = reader_uleb(r);
    a.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
    a.children = dwarf_number(r, 1) != 0;
    a.first = (uint32_t)t->attr_count;
    while (abbrev_next_attr(r, &attr)) {
        if (t->attr_count >= ABBREV_ATTRS_MAX)
            r->failed = true;
        if (attr.name == DW_AT_sibling && attr.form == DW_FORM_ref4 &&
            before < ABBREV_NOWHERE)
            a.sibling = (uint16_t)before;
        size = form_size(unit, attr.form);
        attr.size = (uint8_t)size;
        before = size < FORM_LEB && before < ABBREV_NOWHERE ? before + size
                                                            : ABBREV_NOWHERE;
        addresses =
            addresses || attr.name == DW_AT_low_pc || attr.name == DW_AT_ranges;
        t->alternative = t->alternative || form_is_alternative(attr.form);
        if (!grow_abbrev_array(t, &t->attrs, t->attr_count, &t->attr_capacity,
                               sizeof(*t->attrs)))
            return -1;
        t->attrs[t->attr_count++] = attr;
        a.count++;
    }
    if (r->failed)
        return 0;
    a.inlined = a.tag == DW_TAG_inlined_subroutine;
    a.function = addresses &&
                 (a.tag == DW_TAG_subprogram || a.tag == DW_TAG_entry_point);
    if (!grow_abbrev_array(t, &t->list, t->count, &t->capacity,
                           sizeof(*t->list)))
        return -1;
    t->dense = t->dense && a.code == t->count + 1;
    t->list[t->count++] = a;
    return 1;
}

/* Entries of these tags cannot contain code and gcc gives them a DW_AT_sibling;
 * all others may contain code, in local classes and lambdas. */
static bool
is_shut(uint16_t tag)
{
    return tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type ||
           tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

/* Most entries are values of fixed size with at most two blocks (locations)
 * among them: two or three sums of bytes skip them. */
static struct abbrev_pass
pass_of(const struct abbrev *a, const struct abbrev_attr *attrs)
{
    struct abbrev_pass pass = {.sibling = ABBREV_NOWHERE};

    pass.flags = (a->children ? PASS_CHILDREN : 0) |
                 (a->function ? PASS_CODE : 0) |
                 (a->inlined ? PASS_INLINED : 0);
    if (a->children && (a->inlined || is_shut(a->tag)) &&
        a->sibling != ABBREV_NOWHERE) {
        pass.flags |= PASS_SHUT;
        pass.sibling = a->sibling;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        unsigned size = attrs[i].size;
        bool block = size == FORM_BLOCK || size == FORM_BLOCK1;

        if (block && pass.blocks + 1U < sizeof(pass.bytes))
            pass.blocks++;
        else if (size <= UINT8_MAX - (unsigned)pass.bytes[pass.blocks] &&
                 size < FORM_LEB)
            pass.bytes[pass.blocks] += (uint8_t)size;
        else
            pass.flags |= PASS_SLOW;
    }
    return pass;
}

static int
make_passes(struct abbrev_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!grow_abbrev_array(t, &t->passes, i, &t->pass_capacity,
                               sizeof(*t->passes)))
            return -1;
        t->passes[i] = pass_of(&t->list[i], abbrev_attrs(t, &t->list[i]));
    }
    return 0;
}

static int
by_code(const void *a, const void *b)
{
    const struct abbrev *x = a, *y = b;

    /* Of a repeated code, the first counts. */
    if (x->code == y->code)
        return (x->first > y->first) - (x->first < y->first);
    return x->code < y->code ? -1 : 1;
}

/* Reads the table.  Where it ends is found only by reading, so it is read in
 * larger and larger windows, from its start each time. */
static int
read_abbrev_table(struct abbrev_table *t, struct dwarf_sections *sections,
                  const struct dwarf_unit *unit, struct error *err)
{
    uint64_t size = dwarf_section_size(sections, DWARF_ABBREV);
    uint64_t left = unit->abbrev_offset < size ? size - unit->abbrev_offset : 0;
    uint64_t window = FIRST_WINDOW;
    const uint8_t *bytes;
    struct reader r;
    int rc;

    do {
        if (window > left)
            window = left;
        bytes = dwarf_section_bytes(sections, DWARF_ABBREV, unit->abbrev_offset,
                                    window, err);
        if (!bytes)
            return -1;
        r = reader_of(bytes, window);
        t->count = t->attr_count = 0;
        t->dense = true;
        t->alternative = false;
        do
            rc = t->count < ABBREVS_MAX ? read_abbrev(t, &r, unit) : 0;
        while (rc > 0);
        if (rc < 0 || make_passes(t) != 0) {
            error_memory(err, "abbreviations of debug information");
            return -1;
        }
        window *= WINDOW_GROWTH;
    } while (r.failed && window / WINDOW_GROWTH < left);
    /* passes stay unsorted: entry_pass() uses those of dense tables only */
    if (!t->dense && t->count > 0)
        qsort(t->list, t->count, sizeof(*t->list), by_code);
    return 0;
}

static bool
is_for(const struct abbrev_table *t, const struct dwarf_unit *unit)
{
    return t->made && t->offset == unit->abbrev_offset &&
           t->version == unit->version &&
           t->address_size == unit->address_size &&
           t->offset_size == unit->offset_size;
}

static struct abbrev_table *
find_abbrev_table(struct abbrev_cache *cache, const struct dwarf_unit *unit)
{
    if (cache->last && is_for(cache->last, unit))
        return cache->last;
    for (size_t i = 0; i < ABBREV_CACHE; i++)
        if (is_for(&cache->tables[i], unit))
            return &cache->tables[i];
    return NULL;
}

/* The table to replace.  Most units have a table of their own that nobody asks
 * for again: its memory is reused, which is still in the processor's cache. */
static struct abbrev_table *
table_to_make(struct abbrev_cache *cache)
{
    struct abbrev_table *oldest = NULL;

    for (size_t i = 0; i < ABBREV_CACHE; i++) {
        struct abbrev_table *t = &cache->tables[i];

        if (t == cache->pinned)
            continue;
        if (t->made && !t->shared)
            return t;
        if (!oldest || t->used < oldest->used)
            oldest = t;
    }
    return oldest;
}

const struct abbrev_table *
abbrev_cache_get(struct abbrev_cache *cache, struct dwarf_sections *sections,
                 const struct dwarf_unit *unit, struct error *err)
{
    struct abbrev_table *t = find_abbrev_table(cache, unit);

    if (t && t != cache->pinned)
        t->shared = true;
    if (!t) {
        t = table_to_make(cache);
        /* until it is whole: a failure must not leave a mixture */
        t->made = false;
        t->sections = sections;
        if (read_abbrev_table(t, sections, unit, err) != 0)
            return NULL;
        t->offset = unit->abbrev_offset;
        t->version = unit->version;
        t->address_size = unit->address_size;
        t->offset_size = unit->offset_size;
        t->made = true;
        t->shared = cache->pinned != NULL;
    }
    cache->last = t;
    t->used = ++cache->clock;
    return t;
}

void
abbrev_cache_fini(struct abbrev_cache *cache)
{
    for (size_t i = 0; i < ABBREV_CACHE; i++) {
        struct abbrev_table *t = &cache->tables[i];
        struct dwarf_budget *budget;

        if (!t->sections)
            continue;
        budget = dwarf_sections_budget(t->sections);
        dwarf_budget_drop(budget, &t->list, &t->capacity, sizeof(*t->list));
        dwarf_budget_drop(budget, &t->attrs, &t->attr_capacity,
                          sizeof(*t->attrs));
        dwarf_budget_drop(budget, &t->passes, &t->pass_capacity,
                          sizeof(*t->passes));
    }
    memset(cache, 0, sizeof(*cache));
}

const struct abbrev *
abbrev_find_sparse(const struct abbrev_table *table, uint64_t code)
{
    size_t first = SEARCH_ABOVE(table->list, table->count, code, code - 1);

    return first < table->count && table->list[first].code == code
               ? &table->list[first]
               : NULL;
}
