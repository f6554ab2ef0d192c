/*
 * code_entry.h - the attributes of a function's entry, or of a place where one
 * was inlined; and the way past entries without code.
 */
#ifndef HW_CODE_ENTRY_H
#define HW_CODE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf_forms.h"
#include "reader.h"
#include "unit_name.h"

struct abbrev_attr;
struct abbrev_table;
struct dwarf_unit;

struct code_entry {
    struct form_value low_pc, high_pc, ranges, call_file, call_line, sibling;
    struct entry_names names; /* the caller sets their place */
};

/* Reads count attributes; r fails if they end too early. */
void code_entry_read(struct reader *r, const struct dwarf_unit *unit,
                     const struct abbrev_attr *attrs, uint32_t count,
                     struct code_entry *e);

/* ---- entries without code: the innermost loop of all ---- */

enum { PASS_MARGIN = 1 << 12 }; /* left in a window when it is moved */

/* Besides a node or CODE_NONE: what an entry is inside. */
static const uint32_t SCOPE_IDLE =
    UINT32_MAX - 1; /* code without asked addresses */

struct entry_pass {
    const struct abbrev_table *table;
    const struct dwarf_unit *unit;
    const uint8_t *bytes; /* the window's */
    uint64_t offset;      /* of the window in .debug_info */
    bool last;            /* the window reaches the unit's end */
    uint32_t *scopes;     /* of entries, by depth */
};

/*
 * Skips r's entries up to one that needs a closer look: one with code, or an
 * unusual one.  Leaves r before it, or within PASS_MARGIN of the end; r never
 * fails.  depth is the first entry's, at least 1; returns the next one's.
 */
uint64_t entry_pass(const struct entry_pass *pass, struct reader *r,
                    uint64_t depth);

#endif
