/*
 * code_entry.h - the attributes of a function's entry, or of a place where one
 * was inlined.
 */
#ifndef HW_CODE_ENTRY_H
#define HW_CODE_ENTRY_H

#include <stdint.h>

#include "dwarf_forms.h"
#include "unit_name.h"

struct abbrev_attr;
struct dwarf_unit;
struct reader;

struct code_entry {
    struct form_value low_pc, high_pc, ranges, call_file, call_line, sibling;
    struct entry_names names; /* the caller sets their place */
};

/* Reads count attributes; r fails if they end too early. */
void code_entry_read(struct reader *r, const struct dwarf_unit *unit,
                     const struct abbrev_attr *attrs, uint32_t count,
                     struct code_entry *e);

#endif
