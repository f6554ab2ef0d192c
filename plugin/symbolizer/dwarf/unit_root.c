/* unit_root.c - see unit_root.h. */
#include "unit_root.h"

#include <string.h>

#include "abbrev_table.h"
#include "dwarf_codes.h"
#include "dwarf_reader.h"
#include "dwarf_room.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"
#include "range_list.h"

enum {
    NEAR = 1 << 16, /* bytes read at once when units are small */
    ROOT_FIRST = 512,
    ROOT_MAX = 1 << 20, /* bytes of a first entry, texts included */
    ABBREV_FIRST = 1 << 10,
    /* bytes before a first entry's abbreviation: searched for each unit */
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
    uint16_t place;
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

/* Moves abbreviations on to the attributes of code. */
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

/* 0: done; 1: needs more bytes of .debug_info; 2: needs more abbreviations. */
static int
read_values(const struct dwarf_unit *unit, struct reader *r,
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
                    memcpy((char *)out + wanted[i].place, &value,
                           sizeof(value));
        }
    else if (!r->failed)
        return 2;
    return r->failed ? 1 : abbrevs->failed ? 2 : 0;
}

/* Only reading finds the entry's end: in larger and larger windows. */
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
        rc = read_values(unit, &r, &abbrevs, out);
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

/* A base that is not given counts from behind the first header. */
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
    size_t refused = dwarf_room_refused(dwarf_sections_room(sections));
    struct values v;
    const uint8_t *bytes;

    memset(root, 0, sizeof(*root));
    unit->line.offset = UINT64_MAX;
    unit->line.directory.data = "";
    if (unit->why != DWARF_KNOWN)
        return;
    bytes = root_values(unit, sections, w, &v);
    if (!bytes) {
        unit->why = dwarf_room_refused(dwarf_sections_room(sections)) == refused
                        ? DWARF_DAMAGED
                        : DWARF_NO_ROOM;
        return;
    }
    unit->str_offsets_base = base_of(unit, &v.str_offsets_base, 8);
    unit->addr_base = base_of(unit, &v.addr_base, 8);
    unit->ranges_base = base_of(unit, &v.ranges_base, 12);
    unit->line.str_offsets_base = unit->str_offsets_base;
    unit->language =
        v.language.number <= UINT16_MAX ? (uint16_t)v.language.number : 0;
    unit->low_pc = 0;
    (void)form_address(sections, unit, &v.low_pc, &unit->low_pc);
    if (v.line.form != 0)
        unit->line.offset = v.line.number;
    if (v.dwo_name.form != 0 || unit->type == DW_UT_skeleton)
        unit->why = DWARF_SPLIT;
    if (texts)
        (void)form_text(sections, unit, &v.directory, bytes, unit->entries,
                        &unit->line.directory);
    root->low_pc = v.low_pc;
    root->high_pc = v.high_pc;
    root->ranges = v.ranges;
}

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
