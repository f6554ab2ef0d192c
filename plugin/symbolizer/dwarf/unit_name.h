/*
 * unit_name.h - what an entry is called: its own linkage name, else the first
 * one along DW_AT_abstract_origin and DW_AT_specification, also in other
 * units, else the first plain name on that way.
 */
#ifndef HW_UNIT_NAME_H
#define HW_UNIT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "abbrev_table.h"
#include "buffer.h"
#include "dwarf_forms.h"

struct dwarf_unit;
struct dwarf_units;

enum { NAME_CHAIN_MAX = 100, NAME_MEMO = 1 << 12 };

/* What an entry itself says, where it was read. */
struct entry_names {
    struct form_value name, linkage, origin, specification;
    const uint8_t *bytes; /* .debug_info's from offset on */
    uint64_t offset;
};

struct name_memo {
    uint64_t entry; /* UINT64_MAX: free */
    struct span text;
    bool linkage;
};

/* One thread's; zeroed, then init. */
struct name_reader {
    struct dwarf_units *units;
    struct abbrev_cache *abbrevs;
    struct buffer bytes;    /* of other places */
    struct name_memo *memo; /* by entry, the last one wins */
    /* .debug_info that the caller holds anyway */
    const uint8_t *near;
    uint64_t near_offset, near_size;
};

int name_reader_init(struct name_reader *n, struct dwarf_units *units,
                     struct abbrev_cache *abbrevs);
void name_reader_fini(struct name_reader *n);

/* Takes an attribute that matters here; false: it is not one. */
bool entry_names_take(struct entry_names *names, uint16_t attr,
                      const struct form_value *value);

/* The name of the entry that said own; "" when it has none. */
void unit_name(struct name_reader *n, const struct dwarf_unit *unit,
               const struct entry_names *own, struct span *text, bool *linkage);

/* Likewise, of the entry at an offset of .debug_info in unit. */
void unit_name_at(struct name_reader *n, const struct dwarf_unit *unit,
                  uint64_t entry, struct span *text, bool *linkage);

#endif
