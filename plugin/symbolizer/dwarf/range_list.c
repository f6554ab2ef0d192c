/* range_list.c - see range_list.h. */
#include "range_list.h"

#include "dwarf_codes.h"
#include "dwarf_reader.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"

/* An entry has at most 1 + 10 + 10 bytes. */
enum { WINDOW = 512, ENTRY_MAX = 21 };

static enum dwarf_section
section_of(const struct dwarf_unit *unit)
{
    return unit->version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES;
}

/* Fills the window from offset on. */
static bool
fill_window(struct range_list *list, uint64_t offset, uint64_t left)
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
move_window(struct range_list *list, uint64_t offset)
{
    enum dwarf_section which = section_of(list->unit);
    uint64_t size = dwarf_section_size(list->sections, which), left;
    const struct range_window *w = list->near;

    if (offset >= size)
        return false;
    left = size - offset < WINDOW ? size - offset : WINDOW;
    if ((w->section != which || offset < w->at || offset - w->at > w->size ||
         left > w->size - (offset - w->at)) &&
        !fill_window(list, offset, size - offset))
        return false;
    list->start = w->bytes + (offset - w->at);
    list->at = offset;
    list->window = reader_of(list->start, left);
    return true;
}

/* A rnglistx is an index into the table of offsets behind the header. */
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
    list->failed = !move_window(list, offset);
    return !list->failed;
}

static bool
indexed(struct range_list *list, uint64_t *address)
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
next_entry(struct range_list *list, uint64_t *start, uint64_t *end)
{
    struct reader *r = &list->window;
    unsigned size = list->unit->address_size;
    bool known = true;

    switch (dwarf_number(r, 1)) {
    case DW_RLE_base_addressx:
        list->failed = !indexed(list, &list->base);
        return ITEM_BASE;
    case DW_RLE_base_address:
        list->base = dwarf_number(r, size);
        return ITEM_BASE;
    case DW_RLE_startx_endx:
        known = indexed(list, start);
        known = indexed(list, end) && known;
        break;
    case DW_RLE_startx_length:
        known = indexed(list, start);
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
        if (reader_left(&list->window) < ENTRY_MAX &&
            here + reader_left(&list->window) < size &&
            !move_window(list, here)) {
            list->failed = true;
            return false;
        }
        item = list->unit->version >= 5 ? next_entry(list, start, end)
                                        : next_pair(list, start, end);
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
