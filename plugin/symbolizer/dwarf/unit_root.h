/*
 * unit_root.h - the first entry of a unit, which describes the unit.
 */
#ifndef HW_UNIT_ROOT_H
#define HW_UNIT_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "dwarf_forms.h"
#include "reader.h"

struct dwarf_sections;
struct dwarf_unit;
struct error;

/*
 * The ranges of a DW_AT_ranges: in .debug_ranges for DWARF 2 to 4, in
 * .debug_rnglists for DWARF 5.
 */

/* The bytes that were read last: a unit's lists are adjacent, and most are
 * short.  One thread's; empty when zeroed. */
struct range_window {
    uint64_t at, size;
    uint8_t section; /* enum dwarf_section */
    uint8_t bytes[1 << 12];
};

struct range_list {
    struct dwarf_sections *sections;
    struct range_window *near;
    const struct dwarf_unit *unit;
    struct reader window; /* the bytes from offset at on, as far as they are
                           * held */
    const uint8_t *start; /* of the window */
    uint64_t at, base;
    uint64_t items; /* read so far, ranges or not */
    bool failed;    /* the list was cut or is invalid */
};

/* Linkers give discarded code the address 0, in range lists also 1 (0 would end
 * the list): it would claim the addresses of other code. */
static inline bool
range_is_code(uint64_t start, uint64_t end)
{
    return start > 1 && start < end;
}

/* Opens the list of a DW_AT_ranges; false: it is invalid.  near belongs to the
 * same sections, and to no other list until this one is read. */
bool range_list_open(struct range_list *list, struct dwarf_sections *sections,
                     struct range_window *near, const struct dwarf_unit *unit,
                     const struct form_value *value);

/* The next range with code; false at the end. */
bool range_list_next(struct range_list *list, uint64_t *start, uint64_t *end);

/* A piece of .debug_info that moves on with its reader. */
struct info_window {
    struct buffer bytes;
    uint64_t offset;
};

void info_window_init(struct info_window *w);
void info_window_fini(struct info_window *w);

/* size bytes from offset on, or fewer at the section's end; NULL with *err:
 * they cannot be read. */
const uint8_t *info_window_at(struct info_window *w,
                              struct dwarf_sections *sections, uint64_t offset,
                              uint64_t *size, struct error *err);

struct unit_root {
    struct form_value low_pc, high_pc, ranges;
};

/*
 * Sets unit's fields from its first entry (texts only if wanted), and unit->why
 * if the entry cannot be read or says that the code is elsewhere.
 */
void unit_root_read(struct dwarf_unit *unit, struct dwarf_sections *sections,
                    struct info_window *w, bool texts, struct unit_root *root);

/* Calls put with each of the root's ranges; put's -1 ends it. */
int unit_root_ranges(const struct dwarf_unit *unit,
                     struct dwarf_sections *sections,
                     const struct unit_root *root,
                     int (*put)(void *arg, uint64_t start, uint64_t end),
                     void *arg);

#endif
