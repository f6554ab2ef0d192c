/*
 * dwarf_forms.h - attribute values: their size in .debug_info, and their
 * meaning.
 */
#ifndef HW_DWARF_FORMS_H
#define HW_DWARF_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf_reader.h"
#include "reader.h"

struct dwarf_sections;
struct dwarf_unit;

/* How to skip a form: a number of bytes, or one of these. */
enum form_size {
    FORM_LEB = 32,
    FORM_TEXT,
    FORM_BLOCK1, /* one byte with a size, then so many bytes */
    FORM_BLOCK2,
    FORM_BLOCK4,
    FORM_BLOCK,
    FORM_INDIRECT,
    FORM_UNKNOWN
};

/* 0 to 16, or an enum form_size. */
unsigned form_size(const struct dwarf_unit *unit, uint64_t form);
/* Whether it refers to another file: .debug_sup, or dwz's. */
bool form_is_alternative(uint64_t form);

/* Skips one value of a form_size, but not FORM_INDIRECT; fails r for
 * FORM_UNKNOWN.  Inline: most of .debug_info is skipped. */
static inline void
form_skip_size(struct reader *r, unsigned size)
{
    switch (size) {
    case FORM_LEB:
        dwarf_skip_lebs(r, 1);
        break;
    case FORM_TEXT:
        dwarf_skip_text(r);
        break;
    case FORM_BLOCK1:
        dwarf_skip(r, dwarf_number(r, 1));
        break;
    case FORM_BLOCK2:
        dwarf_skip(r, dwarf_number(r, 2));
        break;
    case FORM_BLOCK4:
        dwarf_skip(r, dwarf_number(r, 4));
        break;
    case FORM_BLOCK:
        dwarf_skip(r, reader_uleb(r));
        break;
    case FORM_INDIRECT:
    case FORM_UNKNOWN:
        r->failed = true;
        break;
    default:
        dwarf_skip(r, size);
        break;
    }
}

/* Skips one value; fails r for unknown forms. */
void form_skip(struct reader *r, const struct dwarf_unit *unit, uint64_t form);

struct form_value {
    uint16_t form; /* 0: no such attribute */
    uint64_t number;
    const uint8_t *text; /* of DW_FORM_string */
};

void form_read(struct reader *r, const struct dwarf_unit *unit, uint64_t form,
               uint64_t implicit, struct form_value *out);

/* A value's meaning; false: it has none, or cannot be read. */
bool form_address(struct dwarf_sections *sections,
                  const struct dwarf_unit *unit, const struct form_value *value,
                  uint64_t *address);
/* bytes are those of .debug_info, from offset on, that value was read from. */
bool form_text(struct dwarf_sections *sections, const struct dwarf_unit *unit,
               const struct form_value *value, const uint8_t *bytes,
               uint64_t offset, struct span *text);
/* A reference as an offset in .debug_info. */
bool form_reference(const struct dwarf_unit *unit,
                    const struct form_value *value, uint64_t *offset);

/* The i-th address of the unit's part of .debug_addr. */
bool form_indexed_address(struct dwarf_sections *sections,
                          const struct dwarf_unit *unit, uint64_t i,
                          uint64_t *address);

#endif
