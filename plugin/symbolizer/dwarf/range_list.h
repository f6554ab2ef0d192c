/*
 * range_list.h - the ranges of a DW_AT_ranges: in .debug_ranges for DWARF 2 to
 * 4, in .debug_rnglists for DWARF 5.
 */
#ifndef HW_RANGE_LIST_H
#define HW_RANGE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf_forms.h"
#include "reader.h"

struct dwarf_sections;
struct dwarf_unit;

/* The bytes read last: a unit's lists are adjacent, and most are short.  One
 * thread's; empty when zeroed. */
struct range_window {
    uint64_t at, size;
    uint8_t section; /* enum dwarf_section */
    uint8_t bytes[1 << 12];
};

struct range_list {
    struct dwarf_sections *sections;
    struct range_window *near;
    const struct dwarf_unit *unit;
    struct reader window; /* the bytes from at on, or fewer */
    const uint8_t *start; /* of the window */
    uint64_t at, base;
    uint64_t items; /* read so far, ranges or not */
    bool failed;    /* the list was cut or is invalid */
};

/* Linkers put discarded code at 0, in range lists also at 1, where it would
 * claim the addresses of other code. */
static inline bool
range_is_code(uint64_t start, uint64_t end)
{
    return start > 1 && start < end;
}

/* value is DW_AT_ranges; false if it is invalid.  near belongs to the same
 * sections, and to no other list until this one is read. */
bool range_list_open(struct range_list *list, struct dwarf_sections *sections,
                     struct range_window *near, const struct dwarf_unit *unit,
                     const struct form_value *value);

/* The next range with code; false at the end. */
bool range_list_next(struct range_list *list, uint64_t *start, uint64_t *end);

#endif
