/*
 * dwarf_forms.h - the values of attributes: how long they are in .debug_info,
 * and what they stand for.
 */
#ifndef HW_DWARF_FORMS_H
#define HW_DWARF_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct dwarf_sections;
struct dwarf_unit;

/* How a form is passed over: so many bytes, or one of these. */
enum form_size {
    FORM_LEB = 32,
    FORM_TEXT,
    FORM_BLOCK1, /* that many bytes, and that many more as they say */
    FORM_BLOCK2,
    FORM_BLOCK4,
    FORM_BLOCK,
    FORM_INDIRECT,
    FORM_UNKNOWN
};

/* 0 to 16, or an enum form_size. */
unsigned form_size(const struct dwarf_unit *unit, uint64_t form);
/* A reference into another file: .debug_sup or what dwz makes. */
bool form_is_alternative(uint64_t form);

/* Passes over one value; fails r for unknown forms. */
void form_skip(struct reader *r, const struct dwarf_unit *unit, uint64_t form);

struct form_value {
    uint16_t form; /* 0: the attribute is not there */
    uint64_t number;
    const uint8_t *text; /* of DW_FORM_string */
};

void form_read(struct reader *r, const struct dwarf_unit *unit, uint64_t form,
               uint64_t implicit, struct form_value *out);

/* What a value stands for; false: it is none, or cannot be read. */
bool form_address(struct dwarf_sections *sections,
                  const struct dwarf_unit *unit, const struct form_value *value,
                  uint64_t *address);
/* bytes are .debug_info's from offset on, where value was read. */
bool form_text(struct dwarf_sections *sections, const struct dwarf_unit *unit,
               const struct form_value *value, const uint8_t *bytes,
               uint64_t offset, struct span *text);
/* As an offset in .debug_info. */
bool form_reference(const struct dwarf_unit *unit,
                    const struct form_value *value, uint64_t *offset);
/* The length that DW_AT_high_pc has unless it is an address. */
bool form_is_address(const struct form_value *value);

/* The i-th address of the unit's part of .debug_addr. */
bool form_indexed_address(struct dwarf_sections *sections,
                          const struct dwarf_unit *unit, uint64_t i,
                          uint64_t *address);

#endif
