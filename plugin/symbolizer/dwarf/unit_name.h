/*
 * unit_name.h - the name of an entry: its own linkage name, or the first one
 * along DW_AT_abstract_origin and DW_AT_specification (in other units, too), or
 * the first plain name on that way.
 */
#ifndef HW_UNIT_NAME_H
#define HW_UNIT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "abbrev_table.h"
#include "buffer.h"
#include "dwarf_forms.h"
#include "reader.h"

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
    struct buffer bytes;    /* entries elsewhere in .debug_info */
    struct name_memo *memo; /* a hash table by entry; a new one replaces the
                             * old */
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

/* The same for the entry at an offset of .debug_info in unit. */
void unit_name_at(struct name_reader *n, const struct dwarf_unit *unit,
                  uint64_t entry, struct span *text, bool *linkage);

/* The attributes of a function's entry, or of an inlined instance of one; and
 * how to skip entries without code. */

struct code_entry {
    struct form_value low_pc, high_pc, ranges, call_file, call_line, sibling;
    struct entry_names names; /* the caller sets their bytes and offset */
};

/* Reads count attributes; r fails if they end too early. */
void code_entry_read(struct reader *r, const struct dwarf_unit *unit,
                     const struct abbrev_attr *attrs, uint32_t count,
                     struct code_entry *e);

/* ---- entries without code: the innermost loop of all ---- */

enum { PASS_MARGIN = 1 << 12 }; /* bytes left in a window when it is moved */

/* The scope of an entry is the node that it is inside, CODE_NONE, or this: */
static const uint32_t SCOPE_IDLE =
    UINT32_MAX - 1; /* code without asked addresses */

struct entry_pass {
    const struct abbrev_table *table;
    const struct dwarf_unit *unit;
    const uint8_t *bytes; /* the window's */
    uint64_t offset;      /* of the window in .debug_info */
    bool last;            /* the window reaches the unit's end */
    uint32_t *scopes;     /* of the open entries, by depth */
};

/*
 * Skips r's entries up to one that needs a closer look: one with code, or an
 * unusual one.  Leaves r before it, or within PASS_MARGIN of the end; r never
 * fails.  depth is the first entry's, at least 1; returns the next one's.
 */
uint64_t entry_pass(const struct entry_pass *pass, struct reader *r,
                    uint64_t depth);

#endif
