/*
 * dwarf_forms.c - see dwarf_forms.h.
 *
 * A table has the size of each form, which is all that skipping needs; only
 * attributes that matter are read (form_read) and interpreted (form_address,
 * form_text, form_reference).  A unit with an unknown form cannot be read
 * further, as the form's length is unknown: its reader fails, and libbfd is
 * asked.
 */
#include "dwarf_forms.h"

#include "dwarf_reader.h"
#include "dwarf_sections.h"
#include "dwarf_units.h"

/* Sizes that depend on the unit: form_size() resolves them. */
enum { BY_ADDRESS = 64, BY_OFFSET, BY_VERSION, NONE };

static const uint8_t sizes[] = {
    [0x00] = FORM_UNKNOWN,
    [DW_FORM_addr] = BY_ADDRESS,
    [0x02] = FORM_UNKNOWN,
    [DW_FORM_block2] = FORM_BLOCK2,
    [DW_FORM_block4] = FORM_BLOCK4,
    [DW_FORM_data2] = 2,
    [DW_FORM_data4] = 4,
    [DW_FORM_data8] = 8,
    [DW_FORM_string] = FORM_TEXT,
    [DW_FORM_block] = FORM_BLOCK,
    [DW_FORM_block1] = FORM_BLOCK1,
    [DW_FORM_data1] = 1,
    [DW_FORM_flag] = 1,
    [DW_FORM_sdata] = FORM_LEB,
    [DW_FORM_strp] = BY_OFFSET,
    [DW_FORM_udata] = FORM_LEB,
    [DW_FORM_ref_addr] = BY_VERSION,
    [DW_FORM_ref1] = 1,
    [DW_FORM_ref2] = 2,
    [DW_FORM_ref4] = 4,
    [DW_FORM_ref8] = 8,
    [DW_FORM_ref_udata] = FORM_LEB,
    [DW_FORM_indirect] = FORM_INDIRECT,
    [DW_FORM_sec_offset] = BY_OFFSET,
    [DW_FORM_exprloc] = FORM_BLOCK,
    [DW_FORM_flag_present] = NONE,
    [DW_FORM_strx] = FORM_LEB,
    [DW_FORM_addrx] = FORM_LEB,
    [DW_FORM_ref_sup4] = 4,
    [DW_FORM_strp_sup] = BY_OFFSET,
    [DW_FORM_data16] = 16,
    [DW_FORM_line_strp] = BY_OFFSET,
    [DW_FORM_ref_sig8] = 8,
    [DW_FORM_implicit_const] = NONE,
    [DW_FORM_loclistx] = FORM_LEB,
    [DW_FORM_rnglistx] = FORM_LEB,
    [DW_FORM_ref_sup8] = 8,
    [DW_FORM_strx1] = 1,
    [DW_FORM_strx2] = 2,
    [DW_FORM_strx3] = 3,
    [DW_FORM_strx4] = 4,
    [DW_FORM_addrx1] = 1,
    [DW_FORM_addrx2] = 2,
    [DW_FORM_addrx3] = 3,
    [DW_FORM_addrx4] = 4,
};

unsigned
form_size(const struct dwarf_unit *unit, uint64_t form)
{
    unsigned size;

    if (form < sizeof(sizes))
        size = sizes[form];
    else if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
        size = FORM_LEB;
    else if (form_is_alternative(form))
        size = BY_OFFSET;
    else
        size = FORM_UNKNOWN;
    switch (size) {
    case BY_ADDRESS:
        return unit->address_size;
    case BY_OFFSET:
        return unit->offset_size;
    case BY_VERSION:
        /* DWARF 2 gave DW_FORM_ref_addr the size of an address */
        return unit->version <= 2 ? unit->address_size : unit->offset_size;
    case NONE:
        return 0;
    default:
        return size;
    }
}

bool
form_is_alternative(uint64_t form)
{
    return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt ||
           form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8 ||
           form == DW_FORM_strp_sup;
}

void
form_skip(struct reader *r, const struct dwarf_unit *unit, uint64_t form)
{
    unsigned size = form_size(unit, form);

    /* An indirect value begins with its form, which may be indirect again; each
     * takes a byte, so this ends. */
    while (size == FORM_INDIRECT && !r->failed) {
        form = reader_uleb(r);
        size = form == DW_FORM_implicit_const ? FORM_UNKNOWN
                                              : form_size(unit, form);
    }
    form_skip_size(r, size);
}

void
form_read(struct reader *r, const struct dwarf_unit *unit, uint64_t form,
          uint64_t implicit, struct form_value *out)
{
    unsigned size = form_size(unit, form);

    while (size == FORM_INDIRECT && !r->failed) {
        form = reader_uleb(r);
        size = form == DW_FORM_implicit_const ? FORM_UNKNOWN
                                              : form_size(unit, form);
    }
    out->form = (uint16_t)form; /* form_size() knows none that is larger */
    out->number = 0;
    /* where a DW_FORM_string lies, before it is skipped */
    out->text = r->pos;
    if (form == DW_FORM_implicit_const)
        out->number = implicit;
    else if (form == DW_FORM_flag_present)
        out->number = 1;
    else if (form == DW_FORM_sdata)
        out->number = (uint64_t)reader_sleb(r);
    else if (size == FORM_LEB)
        out->number = reader_uleb(r);
    else if (size <= 8)
        out->number = dwarf_number(r, size);
    else
        form_skip(r, unit, form);
    if (r->failed)
        out->form = 0;
}

/* ---- the meaning of values ---- */

/* The i-th number of a table of numbers of one size. */
static bool
table_number(struct dwarf_sections *sections, enum dwarf_section which,
             uint64_t base, uint64_t i, unsigned size, uint64_t *number)
{
    uint64_t section_size = dwarf_section_size(sections, which);
    const uint8_t *bytes;
    struct reader r;

    /* by division: base + i * size could overflow */
    if (base > section_size || i >= (section_size - base) / size)
        return false;
    bytes = dwarf_section_bytes(sections, which, base + i * size, size, NULL);
    if (!bytes)
        return false;
    r = reader_of(bytes, size);
    *number = dwarf_number(&r, size);
    return true;
}

bool
form_indexed_address(struct dwarf_sections *sections,
                     const struct dwarf_unit *unit, uint64_t i,
                     uint64_t *address)
{
    return table_number(sections, DWARF_ADDR, unit->addr_base, i,
                        unit->address_size, address);
}

/* Whether the value is an address: DW_AT_high_pc of another form is a
 * length. */
static bool
is_address_form(const struct form_value *value)
{
    switch (value->form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return true;
    default:
        return false;
    }
}

bool
form_address(struct dwarf_sections *sections, const struct dwarf_unit *unit,
             const struct form_value *value, uint64_t *address)
{
    if (!is_address_form(value))
        return false;
    if (value->form != DW_FORM_addr)
        return form_indexed_address(sections, unit, value->number, address);
    *address = value->number;
    return true;
}

bool
form_text(struct dwarf_sections *sections, const struct dwarf_unit *unit,
          const struct form_value *value, const uint8_t *bytes, uint64_t offset,
          struct span *text)
{
    uint64_t at = value->number;

    switch (value->form) {
    case DW_FORM_string:
        return dwarf_section_text(sections, DWARF_INFO,
                                  offset + (uint64_t)(value->text - bytes),
                                  text);
    case DW_FORM_line_strp:
        return dwarf_section_text(sections, DWARF_LINE_STR, at, text);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        if (!table_number(sections, DWARF_STR_OFFSETS, unit->str_offsets_base,
                          at, unit->offset_size, &at))
            return false;
        return dwarf_section_text(sections, DWARF_STR, at, text);
    case DW_FORM_strp:
        return dwarf_section_text(sections, DWARF_STR, at, text);
    default:
        return false;
    }
}

bool
form_reference(const struct dwarf_unit *unit, const struct form_value *value,
               uint64_t *offset)
{
    switch (value->form) {
    case DW_FORM_ref_addr:
        *offset = value->number;
        return true;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        *offset = unit->offset + value->number;
        /* references inside the unit only; ref_addr is checked by its user */
        return value->number < unit->size;
    default:
        return false;
    }
}
