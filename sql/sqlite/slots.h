/*
 * slots.h - values that one function call keeps for later calls of its
 * statement.
 *
 * CASE x WHEN y is CASE hw_case(0, x) WHEN hw_when(0, y): it compares as MySQL
 * does, and reads no more than SQLite does. x > ALL (SELECT y) is
 * hw_quantified(x, (SELECT hw_bounds(1, y)), ...): the smallest and the largest
 * y are enough to answer for all.
 */
#ifndef HW_SLOTS_H
#define HW_SLOTS_H

#include <stdbool.h>

#include <sqlite3.h>

enum { SLOTS_MAX = 256 }; /* of a statement */

struct slot {
    sqlite3_value *low, *high; /* for CASE, low alone */
    bool null;                 /* a value was NULL */
};

struct slots {
    struct slot slots[SLOTS_MAX];
    unsigned used; /* slots past it are zero */
};

void slot_clear(struct slot *slot);
void slots_free(struct slots *slots);

#endif
