/*
 * range_list.h - the ranges that DW_AT_ranges points at: .debug_ranges of
 * DWARF 2 to 4, .debug_rnglists of DWARF 5.
 */
#ifndef HW_RANGE_LIST_H
#define HW_RANGE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf_forms.h"
#include "reader.h"

struct dwarf_sections;
struct dwarf_unit;

/* The bytes that were read last: lists of one unit lie beside each other, and
 * most are short.  One thread's; zeroed, it has none. */
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
    bool failed;    /* the list was cut or makes no sense */
};

/* Linkers put code that they leave out at 0, in range lists also at 1: there it
 * would have the addresses of what is really there. */
static inline bool
range_is_code(uint64_t start, uint64_t end)
{
    return start > 1 && start < end;
}

/* value is DW_AT_ranges; false when it points nowhere.  near is of the same
 * sections, and of no other list until this one was read. */
bool range_list_open(struct range_list *list, struct dwarf_sections *sections,
                     struct range_window *near, const struct dwarf_unit *unit,
                     const struct form_value *value);

/* The next range that has code; false at the end. */
bool range_list_next(struct range_list *list, uint64_t *start, uint64_t *end);

#endif
