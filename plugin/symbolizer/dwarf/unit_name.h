/*
 * unit_name.h - the name of an entry: its own linkage name, else the first one
 * along DW_AT_abstract_origin and DW_AT_specification, in other units too, else
 * the first plain name on that way.
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

/* The attributes of the entry itself. */
struct entry_names {
    struct form_value name, linkage, origin, specification;
    const uint8_t *bytes; /* .debug_info from offset on */
    uint64_t offset;
};

struct name_memo {
    uint64_t entry; /* UINT64_MAX: free */
    struct span text;
    bool linkage;
};

/* One thread's; zeroed before name_reader_init. */
struct name_reader {
    struct dwarf_units *units;
    struct abbrev_cache *abbrevs;
    struct buffer bytes;    /* of other places in .debug_info */
    struct name_memo *memo; /* by entry; a new one replaces the old */
    /* A part of .debug_info that the caller holds. */
    const uint8_t *near;
    uint64_t near_offset, near_size;
};

int name_reader_init(struct name_reader *n, struct dwarf_units *units,
                     struct abbrev_cache *abbrevs);
void name_reader_fini(struct name_reader *n);

/* Takes an attribute if it is one of these; else false. */
bool entry_names_take(struct entry_names *names, uint16_t attr,
                      const struct form_value *value);

/* The name of the entry with these attributes; "": it has none. */
void unit_name(struct name_reader *n, const struct dwarf_unit *unit,
               const struct entry_names *own, struct span *text, bool *linkage);

/* Likewise, of the entry at an offset of .debug_info in unit. */
void unit_name_at(struct name_reader *n, const struct dwarf_unit *unit,
                  uint64_t entry, struct span *text, bool *linkage);

#endif
