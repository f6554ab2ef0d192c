/* select_cursor.h - opens SELECT and DO. */
#ifndef HW_SELECT_CURSOR_H
#define HW_SELECT_CURSOR_H

#include <stdint.h>

struct catalog_scope;
struct catalog_table;
struct cursor;
struct error;
struct opening;
struct select_plan;

/* Number of SELECTs that were opened to be read, since the start. */
uint64_t select_count(void);

struct cursor *select_open(struct opening *opening, struct error *err);
/* Opens a cursor without a statement or an arena; takes the plan. */
struct cursor *select_open_plan(const struct opening *opening,
                                struct select_plan *plan, struct error *err);
struct cursor *do_open(struct opening *opening, struct error *err);
/* Opens table's rows that meet the condition, for SHOW ... WHERE. */
struct cursor *select_open_where(struct opening *opening,
                                 const struct catalog_table *table,
                                 const struct catalog_scope *scope,
                                 struct error *err);

#endif
