/*
 * dwarf_units.h - the units of .debug_info, and the addresses of each.
 *
 * The addresses come from .debug_aranges if that is complete, else from the
 * units' first entries.  A unit of a kind unknown to this reader (split, dwz's
 * alternative file, an unknown version) is listed with the reason.
 */
#ifndef HW_DWARF_UNITS_H
#define HW_DWARF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "line_table.h"

struct address_range;
struct dwarf_sections;
struct dwarf_units;
struct error;

enum { DWARF_UNITS_MAX = 1 << 22 };

enum dwarf_why {
    DWARF_KNOWN,
    DWARF_SPLIT,       /* a skeleton: its code is in a .dwo file */
    DWARF_ALTERNATIVE, /* refers to another file's .debug_info (dwz) */
    DWARF_VERSION,     /* newer or older than 2 to 5 */
    DWARF_DAMAGED,
    DWARF_OVER_BUDGET, /* past the ceiling on memory */
    DWARF_WHY_COUNT
};

struct dwarf_unit {
    uint64_t offset, size; /* in .debug_info, with its header */
    uint64_t entries;      /* offset of its first entry */
    uint64_t abbrev_offset;
    uint64_t low_pc; /* base of its ranges */
    uint64_t addr_base, ranges_base, str_offsets_base;
    struct line_origin line; /* line.offset UINT64_MAX: none */
    uint16_t language;       /* DW_LANG_*, 0 unknown */
    uint8_t version, address_size, offset_size; /* 8: DWARF64 */
    uint8_t type;                               /* DW_UT_* */
    uint8_t why;                                /* enum dwarf_why */
};

/* Reads the headers, and first entries where they are needed, of the units up
 * to the one that holds offset upto (UINT64_MAX: of all).  An address that one
 * of them has is certain, because the first unit with an address wins; others
 * may have any other address. */
struct dwarf_units *dwarf_units_new(struct dwarf_sections *sections,
                                    uint64_t upto, struct error *err);
void dwarf_units_free(struct dwarf_units *units); /* NULL is fine */
struct dwarf_sections *dwarf_units_sections(const struct dwarf_units *units);

size_t dwarf_units_count(const struct dwarf_units *units);
/* The unit's bytes in .debug_info; reads nothing. */
uint64_t dwarf_units_size(const struct dwarf_units *units, size_t i);
/* Reads the unit's first entry unless that is done; callable from any thread.
 */
const struct dwarf_unit *dwarf_units_get(struct dwarf_units *units, size_t i);

/* The first unit in the file with code at address; SIZE_MAX: none. */
size_t dwarf_units_at(struct dwarf_units *units, uint64_t address);

/* The map of all addresses: ascending, without overlaps; value is the unit. */
const struct address_range *dwarf_units_map(const struct dwarf_units *units,
                                            size_t *count);

/* The unit whose entries include an offset of .debug_info; SIZE_MAX: none. */
size_t dwarf_units_holding(const struct dwarf_units *units, uint64_t offset);

/* missed reports that an entry refers to offset, which no unit holds; callable
 * from any thread.  fell_short: such an offset was in a unit that was left out;
 * ask after those threads have ended. */
void dwarf_units_missed(struct dwarf_units *units, uint64_t offset);
bool dwarf_units_fell_short(const struct dwarf_units *units);

/* Finds the first unit of each of these ascending addresses, and returns the
 * greatest of their offsets in .debug_info; UINT64_MAX: an address is not
 * listed, or no memory. */
uint64_t unit_aranges_reach(struct dwarf_sections *sections,
                            const uint64_t *addresses, size_t count);

#endif
