/*
 * entry_pass.h - passes over entries that have no code: the innermost loop of
 * all.
 */
#ifndef HW_ENTRY_PASS_H
#define HW_ENTRY_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct abbrev_table;
struct dwarf_unit;

enum { PASS_MARGIN = 1 << 12 }; /* of a window, before it is moved on */

/* Beside a node and CODE_NONE: what an entry is inside of. */
static const uint32_t SCOPE_IDLE = UINT32_MAX - 1; /* code nobody asks for */

struct entry_pass {
    const struct abbrev_table *table;
    const struct dwarf_unit *unit;
    const uint8_t *bytes; /* the window's */
    uint64_t offset;      /* of the window in .debug_info */
    bool last;            /* nothing of the unit comes behind it */
    uint32_t *scopes;     /* of entries, by depth */
};

/*
 * Passes over r's entries up to one that has to be looked at: code, and
 * whatever is not quite as it should be; r is left in front of it, or within
 * PASS_MARGIN of the end, and never fails.  At depth of the first, which is
 * at least 1; returns that of the next.
 */
uint64_t entry_pass(const struct entry_pass *pass, struct reader *r,
                    uint64_t depth);

#endif
