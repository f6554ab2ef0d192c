/*
 * unit_root.c - see unit_root.h.
 *
 * Opening a file reads the first entry of every unit that .debug_aranges does
 * not mention: thousands of small reads at ascending places, so windows on
 * .debug_info, on range lists and on abbreviations are read ahead and reused.
 * Abbreviations are searched here without a table (abbrev_table.h), since only
 * one of each unit's is needed.  Neither an entry nor a list tells its length:
 * both are read with a window, and again with a larger one.
 */
#include "unit_root.h"

#include <string.h>

#include "abbrev_table.h"
#include "dwarf_reader.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"

/* An entry of a list has at most a byte and two LEB128 numbers of 10. */
enum { WINDOW = 512, ENTRY_MAX = 21 };

static enum dwarf_section
section_of(const struct dwarf_unit *unit)
{
    return unit->version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES;
}

/* Reads the window's bytes from offset on. */
static bool
fill_range_window(struct range_list *list, uint64_t offset, uint64_t left)
{
    enum dwarf_section which = section_of(list->unit);
    struct range_window *w = list->near;
    uint64_t size = left < sizeof(w->bytes) ? left : sizeof(w->bytes);

    w->size = 0;
    if (dwarf_section_read(list->sections, which, offset, size, w->bytes,
                           NULL) != 0)
        return false;
    w->section = (uint8_t)which;
    w->at = offset;
    w->size = size;
    return true;
}

/* Makes the bytes from offset on readable. */
static bool
move_range_window(struct range_list *list, uint64_t offset)
{
    enum dwarf_section which = section_of(list->unit);
    uint64_t size = dwarf_section_size(list->sections, which), left;
    const struct range_window *w = list->near;

    if (offset >= size)
        return false;
    left = size - offset < WINDOW ? size - offset : WINDOW;
    if ((w->section != which || offset < w->at || offset - w->at > w->size ||
         left > w->size - (offset - w->at)) &&
        !fill_range_window(list, offset, size - offset))
        return false;
    list->start = w->bytes + (offset - w->at);
    list->at = offset;
    list->window = reader_of(list->start, left);
    return true;
}

/* DW_FORM_rnglistx is an index into the table of offsets behind the header of
 * .debug_rnglists. */
static bool
offset_of_index(struct dwarf_sections *sections, const struct dwarf_unit *unit,
                uint64_t i, uint64_t *offset)
{
    uint64_t size = dwarf_section_size(sections, DWARF_RNGLISTS);
    const uint8_t *bytes;
    struct reader r;

    if (unit->ranges_base > size ||
        i >= (size - unit->ranges_base) / unit->offset_size)
        return false;
    bytes = dwarf_section_bytes(sections, DWARF_RNGLISTS,
                                unit->ranges_base + i * unit->offset_size,
                                unit->offset_size, NULL);
    if (!bytes)
        return false;
    r = reader_of(bytes, unit->offset_size);
    *offset = unit->ranges_base + dwarf_number(&r, unit->offset_size);
    return *offset >= unit->ranges_base;
}

/* DWARF 2 and 3 had no DW_FORM_sec_offset: data4 and data8 are offsets
 * there. */
bool
range_list_open(struct range_list *list, struct dwarf_sections *sections,
                struct range_window *near, const struct dwarf_unit *unit,
                const struct form_value *value)
{
    uint64_t offset = value->number;

    list->sections = sections;
    list->near = near;
    list->unit = unit;
    list->base = unit->low_pc;
    list->items = 0;
    list->failed = true;
    switch (value->form) {
    case DW_FORM_rnglistx:
        if (!offset_of_index(sections, unit, offset, &offset))
            return false;
        break;
    case DW_FORM_sec_offset:
    case DW_FORM_data4:
    case DW_FORM_data8:
        break;
    default:
        return false;
    }
    list->failed = !move_range_window(list, offset);
    return !list->failed;
}

static bool
read_indexed_address(struct range_list *list, uint64_t *address)
{
    return form_indexed_address(list->sections, list->unit,
                                reader_uleb(&list->window), address);
}

enum item { ITEM_RANGE, ITEM_BASE, ITEM_END };

static enum item
next_pair(struct range_list *list, uint64_t *start, uint64_t *end)
{
    unsigned size = list->unit->address_size;
    uint64_t highest = size == 8 ? UINT64_MAX : (1ULL << (8 * size)) - 1;

    *start = dwarf_number(&list->window, size);
    *end = dwarf_number(&list->window, size);
    /* DWARF 2 to 4: the highest address announces a new base */
    if (*start == highest) {
        list->base = *end;
        return ITEM_BASE;
    }
    if (*start == 0 && *end == 0)
        return ITEM_END;
    *start += list->base;
    *end += list->base;
    return ITEM_RANGE;
}

static enum item
next_rnglists_entry(struct range_list *list, uint64_t *start, uint64_t *end)
{
    struct reader *r = &list->window;
    unsigned size = list->unit->address_size;
    bool known = true;

    switch (dwarf_number(r, 1)) {
    case DW_RLE_base_addressx:
        list->failed = !read_indexed_address(list, &list->base);
        return ITEM_BASE;
    case DW_RLE_base_address:
        list->base = dwarf_number(r, size);
        return ITEM_BASE;
    case DW_RLE_startx_endx:
        known = read_indexed_address(list, start);
        known = read_indexed_address(list, end) && known;
        break;
    case DW_RLE_startx_length:
        known = read_indexed_address(list, start);
        *end = *start + reader_uleb(r);
        break;
    case DW_RLE_offset_pair:
        *start = list->base + reader_uleb(r);
        *end = list->base + reader_uleb(r);
        break;
    case DW_RLE_start_end:
        *start = dwarf_number(r, size);
        *end = dwarf_number(r, size);
        break;
    case DW_RLE_start_length:
        *start = dwarf_number(r, size);
        *end = *start + reader_uleb(r);
        break;
    case DW_RLE_end_of_list:
        return ITEM_END;
    default:
        list->failed = true;
        return ITEM_END;
    }
    /* an address that cannot be read makes an empty range, not the end */
    if (!known)
        *end = *start = 0;
    return ITEM_RANGE;
}

bool
range_list_next(struct range_list *list, uint64_t *start, uint64_t *end)
{
    uint64_t size = dwarf_section_size(list->sections, section_of(list->unit));

    while (!list->failed) {
        uint64_t here = list->at + (uint64_t)(list->window.pos - list->start);
        enum item item;

        *start = *end = 0;
        /* near the window's end an entry may be cut: move on first */
        if (reader_left(&list->window) < ENTRY_MAX &&
            here + reader_left(&list->window) < size &&
            !move_range_window(list, here)) {
            list->failed = true;
            return false;
        }
        item = list->unit->version >= 5 ? next_rnglists_entry(list, start, end)
                                        : next_pair(list, start, end);
        /* counted even if it is no range: a list of bases must end, too */
        list->items++;
        if (list->window.failed)
            list->failed = true;
        if (list->failed || item == ITEM_END)
            return false;
        if (item == ITEM_RANGE && range_is_code(*start, *end))
            return true;
    }
    return false;
}

enum {
    NEAR = 1 << 16, /* bytes read ahead when units are small */
    ROOT_FIRST = 512,
    ROOT_MAX = 1 << 20, /* bytes of a first entry, with its texts */
    ABBREV_FIRST = 1 << 10,
    /* bytes searched for a first entry's abbreviation, in each unit */
    ABBREV_MAX = 1 << 18
};

void
info_window_init(struct info_window *w)
{
    buffer_init(&w->bytes, ROOT_MAX);
    w->offset = 0;
}

void
info_window_fini(struct info_window *w)
{
    buffer_fini(&w->bytes);
}

const uint8_t *
info_window_at(struct info_window *w, struct dwarf_sections *sections,
               uint64_t offset, uint64_t *size, struct error *err)
{
    uint64_t all = dwarf_section_size(sections, DWARF_INFO), want;
    /* a reader that goes on from here gets more at once */
    bool near =
        offset >= w->offset && offset - w->offset <= w->bytes.size + NEAR / 4;

    if (offset >= all)
        return NULL;
    if (*size > all - offset)
        *size = all - offset;
    if (offset < w->offset || offset - w->offset > w->bytes.size ||
        *size > w->bytes.size - (offset - w->offset)) {
        want = near && w->bytes.size > 0 && *size < NEAR ? NEAR : *size;
        if (want > all - offset)
            want = all - offset;
        buffer_clear(&w->bytes);
        w->offset = offset;
        if (dwarf_section_copy(sections, DWARF_INFO, offset, want, &w->bytes,
                               err) != 0) {
            buffer_clear(&w->bytes);
            return NULL;
        }
    }
    return (const uint8_t *)w->bytes.data + (offset - w->offset);
}

/* ---- the entry ---- */

struct values {
    struct form_value low_pc, high_pc, ranges, directory, line, language;
    struct form_value str_offsets_base, addr_base, ranges_base, dwo_name;
};

static const struct {
    uint16_t name;
    uint16_t offset;
} wanted[] = {
    {DW_AT_low_pc, offsetof(struct values, low_pc)},
    {DW_AT_high_pc, offsetof(struct values, high_pc)},
    {DW_AT_ranges, offsetof(struct values, ranges)},
    {DW_AT_comp_dir, offsetof(struct values, directory)},
    {DW_AT_stmt_list, offsetof(struct values, line)},
    {DW_AT_language, offsetof(struct values, language)},
    {DW_AT_str_offsets_base, offsetof(struct values, str_offsets_base)},
    {DW_AT_addr_base, offsetof(struct values, addr_base)},
    {DW_AT_GNU_addr_base, offsetof(struct values, addr_base)},
    {DW_AT_rnglists_base, offsetof(struct values, ranges_base)},
    {DW_AT_dwo_name, offsetof(struct values, dwo_name)},
    {DW_AT_GNU_dwo_name, offsetof(struct values, dwo_name)},
};

/* Moves the reader of abbreviations to the attributes of code. */
static bool
find_abbrev(struct reader *abbrevs, uint64_t code)
{
    struct abbrev_attr attr;
    uint64_t found;

    while ((found = reader_uleb(abbrevs)) != 0) {
        reader_uleb(abbrevs);     /* tag */
        dwarf_number(abbrevs, 1); /* children */
        if (found == code)
            return !abbrevs->failed;
        while (abbrev_next_attr(abbrevs, &attr))
            ;
    }
    return false;
}

/* Reads the wanted attributes. 0: done; 1: it needs more bytes of .debug_info;
 * 2: more abbreviations. */
static int
read_root_values(const struct dwarf_unit *unit, struct reader *r,
                 struct reader *abbrevs, struct values *out)
{
    uint64_t code = reader_uleb(r);
    struct abbrev_attr attr;
    struct form_value value;

    memset(out, 0, sizeof(*out));
    if (!r->failed && find_abbrev(abbrevs, code))
        while (abbrev_next_attr(abbrevs, &attr) && !r->failed) {
            form_read(r, unit, attr.form, attr.implicit, &value);
            for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
                if (wanted[i].name == attr.name)
                    memcpy((char *)out + wanted[i].offset, &value,
                           sizeof(value));
        }
    else if (!r->failed)
        return 2;
    return r->failed ? 1 : abbrevs->failed ? 2 : 0;
}

/* Reads the first entry, in larger and larger windows, as its end is found only
 * by reading. */
static const uint8_t *
root_values(const struct dwarf_unit *unit, struct dwarf_sections *sections,
            struct info_window *w, struct values *out)
{
    uint64_t abbrev_all = dwarf_section_size(sections, DWARF_ABBREV);
    uint64_t all = unit->offset + unit->size - unit->entries;
    uint64_t size = ROOT_FIRST, abbrev_size = ABBREV_FIRST;
    const uint8_t *bytes, *abbrev_bytes;
    struct reader r, abbrevs;
    int rc;

    if (unit->abbrev_offset >= abbrev_all)
        return NULL;
    abbrev_all -= unit->abbrev_offset;
    for (;;) {
        size = size < all ? size : all;
        abbrev_size = abbrev_size < abbrev_all ? abbrev_size : abbrev_all;
        bytes = info_window_at(w, sections, unit->entries, &size, NULL);
        abbrev_bytes = dwarf_section_bytes(
            sections, DWARF_ABBREV, unit->abbrev_offset, abbrev_size, NULL);
        if (!bytes || !abbrev_bytes)
            return NULL;
        r = reader_of(bytes, size);
        abbrevs = reader_of(abbrev_bytes, abbrev_size);
        rc = read_root_values(unit, &r, &abbrevs, out);
        if (rc == 0)
            return bytes;
        if (rc == 1 && size < all && size < ROOT_MAX / 4)
            size *= 4;
        else if (rc == 2 && abbrevs.failed && abbrev_size < abbrev_all &&
                 abbrev_size < ABBREV_MAX)
            abbrev_size *= 4;
        else
            return NULL;
    }
}

/* A base that is not given lies behind the header of the section's first table:
 * what producers of split DWARF rely on. */
static uint64_t
base_of(const struct dwarf_unit *unit, const struct form_value *value,
        unsigned header)
{
    if (value->form != 0)
        return value->number;
    if (unit->version < 5)
        return 0;
    return unit->offset_size == 8 ? header + 8 : header;
}

void
unit_root_read(struct dwarf_unit *unit, struct dwarf_sections *sections,
               struct info_window *w, bool texts, struct unit_root *root)
{
    size_t refused = dwarf_budget_refusals(dwarf_sections_budget(sections));
    struct values v;
    const uint8_t *bytes;

    memset(root, 0, sizeof(*root));
    unit->line.offset = UINT64_MAX;
    unit->line.directory.data = "";
    if (unit->why != DWARF_KNOWN)
        return;
    bytes = root_values(unit, sections, w, &v);
    if (!bytes) {
        unit->why =
            dwarf_budget_refusals(dwarf_sections_budget(sections)) == refused
                ? DWARF_DAMAGED
                : DWARF_OVER_BUDGET;
        return;
    }
    unit->str_offsets_base = base_of(unit, &v.str_offsets_base, 8);
    unit->addr_base = base_of(unit, &v.addr_base, 8);
    unit->ranges_base = base_of(unit, &v.ranges_base, 12);
    unit->line.str_offsets_base = unit->str_offsets_base;
    unit->language =
        v.language.number <= UINT16_MAX ? (uint16_t)v.language.number : 0;
    /* without DW_AT_low_pc, ranges have absolute addresses */
    unit->low_pc = 0;
    (void)form_address(sections, unit, &v.low_pc, &unit->low_pc);
    if (v.line.form != 0)
        unit->line.offset = v.line.number;
    /* its functions are in another file, which only libbfd reads */
    if (v.dwo_name.form != 0 || unit->type == DW_UT_skeleton)
        unit->why = DWARF_SPLIT;
    if (texts)
        (void)form_text(sections, unit, &v.directory, bytes, unit->entries,
                        &unit->line.directory);
    root->low_pc = v.low_pc;
    root->high_pc = v.high_pc;
    root->ranges = v.ranges;
}

/* DW_AT_ranges wins: low_pc beside it is only the base of the list. */
int
unit_root_ranges(const struct dwarf_unit *unit, struct dwarf_sections *sections,
                 const struct unit_root *root,
                 int (*put)(void *arg, uint64_t start, uint64_t end), void *arg)
{
    struct range_window near = {.size = 0};
    struct range_list list;
    uint64_t start, end;
    int rc = 0;

    if (root->ranges.form != 0) {
        if (range_list_open(&list, sections, &near, unit, &root->ranges))
            while (rc == 0 && range_list_next(&list, &start, &end))
                rc = put(arg, start, end);
        return rc;
    }
    if (!form_address(sections, unit, &root->low_pc, &start) ||
        root->high_pc.form == 0)
        return 0;
    if (!form_address(sections, unit, &root->high_pc, &end))
        end = start + root->high_pc.number;
    return range_is_code(start, end) ? put(arg, start, end) : 0;
}
