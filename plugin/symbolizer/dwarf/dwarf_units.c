/*
 * dwarf_units.c - see dwarf_units.h.
 *
 * Nothing else may be read before it is known which units a request needs.  gcc
 * writes .debug_aranges, a list of all addresses by unit; clang leaves it out,
 * and a program of both has it in part: units that it does not mention are
 * asked by their first entries (unit_root.h), whose lists of ranges must be
 * read then.  All of it becomes one map without overlaps; where units claim the
 * same address (discarded code, inline functions of old linkers) the first one
 * wins, as in binutils.  A unit's remaining fields are filled at its first use,
 * once, under the lock; then readers need none.
 */
#include "dwarf_units.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "address_map.h"
#include "dwarf_reader.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "errors.h"
#include "memory.h"
#include "search.h"
#include "unit_root.h"

enum {
    ARANGES_VERSION = 2,
    REACH_MAX = 1 << 22 /* steps over addresses in ranges: overlapping ranges of
                         * a hostile file would make it quadratic */
};

/* Reads one set of .debug_aranges, from behind its length; head: bytes of that
 * length. */
static int
read_set(struct reader *set, unsigned offset_size, unsigned head,
         int (*put)(void *arg, uint64_t unit_offset, uint64_t start,
                    uint64_t end),
         void *arg)
{
    unsigned version = (unsigned)dwarf_number(set, 2);
    uint64_t unit = dwarf_number(set, offset_size);
    unsigned address_size = (unsigned)dwarf_number(set, 1);
    unsigned segment_size = (unsigned)dwarf_number(set, 1);
    unsigned used = head + 2 + offset_size + 2;
    uint64_t start, size;
    int rc = 0;

    if (set->failed || version != ARANGES_VERSION || segment_size != 0 ||
        (address_size != 4 && address_size != 8))
        return 0;
    /* Tuples are aligned to their size, counted from the start of the set. */
    if (used % (2 * address_size) != 0)
        dwarf_skip(set, 2 * address_size - used % (2 * address_size));
    /* The standard ends a set with a pair of zeros, but discarded functions
     * leave zeros in the middle: its length ends it. */
    while (rc == 0 && reader_left(set) > 0) {
        start = dwarf_number(set, address_size);
        size = dwarf_number(set, address_size);
        if (!set->failed && start != 0 && size != 0 &&
            size <= UINT64_MAX - start)
            rc = put(arg, unit, start, start + size);
    }
    return rc;
}

/* Reads .debug_aranges, and calls put with each range and its unit's offset in
 * .debug_info; put's -1 ends that.  Skips invalid entries. */
static int
unit_aranges_read(struct dwarf_sections *sections,
                  int (*put)(void *arg, uint64_t unit_offset, uint64_t start,
                             uint64_t end),
                  void *arg)
{
    uint64_t size = dwarf_section_size(sections, DWARF_ARANGES);
    const uint8_t *bytes = NULL;
    struct reader r, set;
    int rc = 0;

    if (size > 0)
        bytes = dwarf_section_bytes(sections, DWARF_ARANGES, 0, size, NULL);
    if (!bytes)
        return 0;
    r = reader_of(bytes, size);
    while (rc == 0 && reader_left(&r) > 0) {
        uint64_t length = dwarf_number(&r, 4);
        unsigned offset_size = 4, head = 4;

        if (length == UINT32_MAX) {
            length = dwarf_number(&r, 8);
            offset_size = 8;
            head = 12;
        }
        if (!dwarf_need(&r, length))
            break;
        set = reader_of(r.pos, length);
        dwarf_skip(&r, length);
        rc = read_set(&set, offset_size, head, put, arg);
    }
    return rc;
}

struct reaching {
    const uint64_t *addresses;
    size_t count;
    uint64_t *units; /* the first unit so far of each address; UINT64_MAX:
                      * none */
    size_t found;
};

static int
reach_unit(void *arg, uint64_t unit_offset, uint64_t start, uint64_t end)
{
    struct reaching *r = arg;
    size_t i = search_above(r->addresses, r->count, sizeof(*r->addresses), 0,
                            start - 1); /* which is not 0 */

    for (; i < r->count && r->addresses[i] < end; i++, r->found++)
        if (unit_offset < r->units[i])
            r->units[i] = unit_offset;
    return r->found > REACH_MAX ? -1 : 0;
}

/* Only .debug_aranges is read: of .debug_info, which may be packed, not a
 * byte. */
uint64_t
unit_aranges_reach(struct dwarf_sections *sections, const uint64_t *addresses,
                   size_t count)
{
    struct reaching r = {addresses, count, mem_alloc(count * sizeof(*r.units)),
                         0};
    uint64_t reach = UINT64_MAX;

    if (!r.units || count == 0)
        goto out;
    memset(r.units, 0xff, count * sizeof(*r.units));
    if (unit_aranges_read(sections, reach_unit, &r) != 0)
        goto out;
    reach = 0;
    for (size_t i = 0; i < count; i++)
        if (r.units[i] > reach)
            reach = r.units[i];
out:
    mem_free(r.units);
    return reach;
}

enum {
    HEADER_MAX = 12 + 2 + 1 + 1 + 8 + 8 + 8, /* the header of a type unit of
                                              * DWARF64 */
    RANGES_MAX = 1 << 24
};

struct dwarf_units {
    struct dwarf_sections *sections;
    struct dwarf_unit *list; /* a unit is filled once, under lock */
    size_t count, capacity;
    uint64_t *ends; /* ends of the units, which fill .debug_info */
    atomic_uchar *filled;
    pthread_mutex_t lock;
    struct address_range *ranges; /* while the map is being made */
    size_t range_count, range_capacity;
    struct address_range *map;
    size_t map_count;
    size_t charged; /* bytes taken of the budget, but for the growing arrays */
    uint64_t upto;  /* units behind it are left out */
    atomic_bool fell_short;
};

static int
set_units_memory_error(struct error *err)
{
    error_memory(err, "the units of debug information");
    return -1;
}

static bool
charge_units_memory(struct dwarf_units *units, size_t size)
{
    if (!dwarf_budget_take(dwarf_sections_budget(units->sections), size))
        return false;
    units->charged += size;
    return true;
}

static void
discharge_units_memory(struct dwarf_units *units, size_t size)
{
    dwarf_budget_give(dwarf_sections_budget(units->sections), size);
    units->charged -= size;
}

/* ---- headers ---- */

/* Reads a unit's header; u->offset is set.  false: not even its size is known,
 * so no later unit can be found either. */
static bool
read_unit_header(struct reader *r, uint64_t left, struct dwarf_unit *u)
{
    uint64_t length = dwarf_number(r, 4);
    const uint8_t *start;

    u->offset_size = 4;
    u->size = 4;
    if (length == UINT32_MAX) {
        length = dwarf_number(r, 8);
        u->offset_size = 8;
        u->size = 12;
    }
    /* a unit that its section cuts off cannot be trusted in its size */
    if (r->failed || length > left - u->size)
        return false;
    start = r->pos - u->size;
    u->size += length;
    u->version = (uint8_t)dwarf_number(r, 1);
    /* the version's high byte: no version is that large */
    if (dwarf_number(r, 1) != 0)
        u->version = 0;
    if (u->version < 2 || u->version > 5) {
        u->why = DWARF_VERSION;
        u->entries = u->offset + u->size;
        return true;
    }
    u->type = DW_UT_compile;
    if (u->version >= 5) {
        u->type = (uint8_t)dwarf_number(r, 1);
        u->address_size = (uint8_t)dwarf_number(r, 1);
        u->abbrev_offset = dwarf_number(r, u->offset_size);
    } else {
        u->abbrev_offset = dwarf_number(r, u->offset_size);
        u->address_size = (uint8_t)dwarf_number(r, 1);
    }
    if (u->type == DW_UT_type || u->type == DW_UT_split_type)
        dwarf_skip(r, 8 + (uint64_t)u->offset_size);
    else if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
        dwarf_skip(r, 8);
    u->entries = u->offset + (uint64_t)(r->pos - start);
    if (r->failed || u->entries > u->offset + u->size ||
        (u->address_size != 4 && u->address_size != 8) || u->type == 0 ||
        u->type > DW_UT_split_type) {
        u->why = DWARF_DAMAGED;
        u->entries = u->offset + u->size;
    }
    return true;
}

/* Only reading a header shows where the next one is, so all are read; entries
 * are not.  A damaged header ends the list, and units before it are good. */
static int
read_headers(struct dwarf_units *units, struct info_window *w,
             struct error *err)
{
    uint64_t all = dwarf_section_size(units->sections, DWARF_INFO);
    uint64_t offset = 0;

    while (offset < all && offset <= units->upto &&
           units->count < DWARF_UNITS_MAX) {
        struct dwarf_unit unit = {.offset = offset, .why = DWARF_KNOWN};
        uint64_t size = HEADER_MAX;
        const uint8_t *bytes =
            info_window_at(w, units->sections, offset, &size, err);
        struct reader r;

        if (!bytes)
            return -1;
        r = reader_of(bytes, size);
        if (!read_unit_header(&r, all - offset, &unit))
            break;
        if (!dwarf_budget_grow(dwarf_sections_budget(units->sections),
                               &units->list, &units->capacity, units->count + 1,
                               sizeof(*units->list)))
            return set_units_memory_error(err);
        units->list[units->count++] = unit;
        offset += unit.size;
    }
    units->ends = mem_zalloc(units->count, sizeof(*units->ends));
    units->filled = mem_zalloc(units->count, sizeof(*units->filled));
    if (!units->ends || !units->filled ||
        !charge_units_memory(units, units->count * (sizeof(*units->ends) + 1)))
        return set_units_memory_error(err);
    for (size_t i = 0; i < units->count; i++)
        units->ends[i] = units->list[i].offset + units->list[i].size;
    if (units->count == 0) {
        error_set(err, ER_UNKNOWN, "no unit of .debug_info can be read");
        return -1;
    }
    return 0;
}

/* ---- addresses ---- */

struct collecting {
    struct dwarf_units *units;
    uint8_t *mentioned; /* by unit: .debug_aranges mentions it */
    size_t unit;
    uint64_t last_offset;
};

static int
put_unit_range(struct collecting *c, size_t unit, uint64_t start, uint64_t end)
{
    struct dwarf_units *units = c->units;

    if (units->range_count == RANGES_MAX ||
        !dwarf_budget_grow(dwarf_sections_budget(units->sections),
                           &units->ranges, &units->range_capacity,
                           units->range_count + 1, sizeof(*units->ranges)))
        return -1;
    units->ranges[units->range_count++] =
        (struct address_range){start, end, unit, (uint32_t)unit};
    return 0;
}

static int
put_arange(void *arg, uint64_t offset, uint64_t start, uint64_t end)
{
    struct collecting *c = arg;

    /* all ranges of a set have the same unit */
    if (c->unit == SIZE_MAX || offset != c->last_offset) {
        c->unit = dwarf_units_holding(c->units, offset);
        c->last_offset = offset;
    }
    if (c->unit == SIZE_MAX || c->units->list[c->unit].offset != offset)
        return 0;
    c->mentioned[c->unit] = 1;
    return put_unit_range(c, c->unit, start, end);
}

static int
put_root_range(void *arg, uint64_t start, uint64_t end)
{
    struct collecting *c = arg;

    return put_unit_range(c, c->unit, start, end);
}

/* Type and partial units describe types; split ones have their code in a .dwo
 * file, but the skeleton has their addresses. */
static bool
may_have_code(const struct dwarf_unit *unit)
{
    return unit->why == DWARF_KNOWN &&
           (unit->type == DW_UT_compile || unit->type == DW_UT_skeleton);
}

/* Ranges of .debug_aranges first, then those of the units that it does not
 * mention.  Its set for a unit is taken as complete. */
static int
collect_ranges(struct dwarf_units *units, struct info_window *w)
{
    struct collecting c = {units, mem_zalloc(units->count, 1), SIZE_MAX, 0};
    struct dwarf_unit unit;
    struct unit_root root;
    size_t refused;
    int rc = -1;

    if (!c.mentioned)
        goto out;
    rc = unit_aranges_read(units->sections, put_arange, &c);
    refused = dwarf_budget_refusals(dwarf_sections_budget(units->sections));
    for (size_t i = 0; rc == 0 && i < units->count; i++) {
        unit = units->list[i];
        if (c.mentioned[i] || !may_have_code(&unit))
            continue;
        unit_root_read(&unit, units->sections, w, false, &root);
        c.unit = i;
        rc =
            unit_root_ranges(&unit, units->sections, &root, put_root_range, &c);
    }
    /* A refusal means that ranges are missing, and addresses would go to the
     * wrong unit: the map needs those of all units. */
    if (dwarf_budget_refusals(dwarf_sections_budget(units->sections)) !=
        refused)
        rc = -1;
out:
    mem_free(c.mentioned);
    return rc;
}

static int
make_map(struct dwarf_units *units, struct info_window *w, struct error *err)
{
    size_t kept = 0, size;
    struct address_range *map;

    if (collect_ranges(units, w) != 0)
        return set_units_memory_error(err);
    /* no code at all: every address is unknown, which is no error */
    if (units->range_count == 0)
        return 0;
    size = units->range_count * 2 * sizeof(*units->map);
    if (!charge_units_memory(units, size))
        return set_units_memory_error(err);
    units->map = address_map_make(units->ranges, units->range_count, &kept);
    if (!units->map)
        return set_units_memory_error(err);
    units->map_count = kept;
    dwarf_budget_drop(dwarf_sections_budget(units->sections), &units->ranges,
                      &units->range_capacity, sizeof(*units->ranges));
    /* Adjacent functions of one unit have become one range. */
    map = mem_realloc(units->map, kept * sizeof(*map));
    if (map) {
        units->map = map;
        discharge_units_memory(units, size - kept * sizeof(*map));
    }
    return 0;
}

struct dwarf_units *
dwarf_units_new(struct dwarf_sections *sections, uint64_t upto,
                struct error *err)
{
    struct dwarf_units *units = mem_zalloc(1, sizeof(*units));
    struct info_window w;
    int rc = -1;

    if (!units) {
        error_memory(err, "the units of debug information");
        return NULL;
    }
    info_window_init(&w);
    units->sections = sections;
    units->upto = upto;
    pthread_mutex_init(&units->lock, NULL);
    if (read_headers(units, &w, err) != 0)
        goto out;
    rc = make_map(units, &w, err);
out:
    info_window_fini(&w);
    if (rc != 0) {
        dwarf_units_free(units);
        units = NULL;
    }
    return units;
}

void
dwarf_units_free(struct dwarf_units *units)
{
    struct dwarf_budget *budget;

    if (!units)
        return;
    budget = dwarf_sections_budget(units->sections);
    dwarf_budget_give(budget, units->charged);
    dwarf_budget_drop(budget, &units->list, &units->capacity,
                      sizeof(*units->list));
    dwarf_budget_drop(budget, &units->ranges, &units->range_capacity,
                      sizeof(*units->ranges));
    pthread_mutex_destroy(&units->lock);
    mem_free(units->ends);
    mem_free((void *)units->filled);
    mem_free(units->map);
    mem_free(units);
}

struct dwarf_sections *
dwarf_units_sections(const struct dwarf_units *units)
{
    return units->sections;
}

size_t
dwarf_units_count(const struct dwarf_units *units)
{
    return units->count;
}

uint64_t
dwarf_units_size(const struct dwarf_units *units, size_t i)
{
    return units->ends[i] - (i > 0 ? units->ends[i - 1] : 0);
}

const struct dwarf_unit *
dwarf_units_get(struct dwarf_units *units, size_t i)
{
    struct info_window w;
    struct unit_root root;
    struct dwarf_unit unit;

    if (atomic_load_explicit(&units->filled[i], memory_order_acquire))
        return &units->list[i];
    /* The first entry is read without the lock: that may wait for the file.
     * Two threads may read it, and the first result is kept. */
    pthread_mutex_lock(&units->lock);
    unit = units->list[i];
    pthread_mutex_unlock(&units->lock);
    info_window_init(&w);
    unit_root_read(&unit, units->sections, &w, true, &root);
    info_window_fini(&w);
    pthread_mutex_lock(&units->lock);
    /* Not written twice: others may be reading it. */
    if (!atomic_load_explicit(&units->filled[i], memory_order_relaxed)) {
        units->list[i] = unit;
        atomic_store_explicit(&units->filled[i], 1, memory_order_release);
    }
    pthread_mutex_unlock(&units->lock);
    return &units->list[i];
}

size_t
dwarf_units_at(struct dwarf_units *units, uint64_t address)
{
    const struct address_range *found =
        address_map_find(units->map, units->map_count, address);

    return found ? found->value : SIZE_MAX;
}

const struct address_range *
dwarf_units_map(const struct dwarf_units *units, size_t *count)
{
    *count = units->map_count;
    return units->map;
}

/* Units fill the section without gaps, so the first end behind offset is its
 * unit's. */
size_t
dwarf_units_holding(const struct dwarf_units *units, uint64_t offset)
{
    size_t low = search_above(units->ends, units->count, sizeof(*units->ends),
                              0, offset);

    return low < units->count ? low : SIZE_MAX;
}

void
dwarf_units_missed(struct dwarf_units *units, uint64_t offset)
{
    /* relaxed: it is read after the threads have ended */
    if (units->upto != UINT64_MAX && offset >= units->ends[units->count - 1])
        atomic_store_explicit(&units->fell_short, true, memory_order_relaxed);
}

bool
dwarf_units_fell_short(const struct dwarf_units *units)
{
    return atomic_load_explicit(&units->fell_short, memory_order_relaxed);
}
