/* unit_root.h - the first entry of a unit, which describes the unit. */
#ifndef HW_UNIT_ROOT_H
#define HW_UNIT_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "dwarf_forms.h"

struct dwarf_sections;
struct error;
struct dwarf_unit;
struct range_list;

/* A piece of .debug_info that moves with its reader. */
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
