/*
 * slots.h - values that one call of a function keeps for later calls of the
 * same statement.
 *
 * CASE x WHEN y is CASE hw_case(0, x) WHEN hw_when(0, y): it compares as MySQL
 * does, and reads no more than SQLite does.  x > ALL (SELECT y) is
 * hw_quantified(x, (SELECT hw_bounds(1, y)), ...): the smallest and the largest
 * y answer for all.
 */
#ifndef HW_SLOTS_H
#define HW_SLOTS_H

#include <stdbool.h>

#include <sqlite3.h>

enum { SLOTS_MAX = 256 }; /* of a statement */

struct slot {
    sqlite3_value *low, *high; /* of CASE, low alone */
    bool null;                 /* one was */
};

struct slots {
    struct slot slots[SLOTS_MAX];
    unsigned used; /* what lies behind is zero */
};

void slot_clear(struct slot *slot);
void slots_free(struct slots *slots);

#endif
