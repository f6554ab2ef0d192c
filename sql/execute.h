/* execute.h - from a parsed statement to its cursor. */
#ifndef HW_EXECUTE_H
#define HW_EXECUTE_H

#include <stdbool.h>

#include "reader.h"
#include "waker.h"

struct arena;
struct cursor;
struct error;
struct sql_parameters;
struct select_plan;
struct sql_session;
struct statement;
struct value;

enum { STATEMENT_BYTES_MAX = 24 * 1024 * 1024 }; /* of a statement's arena */

struct opening {
    struct sql_session *session;
    const struct statement *statement;
    const struct sql_parameters *parameters; /* NULL: none were given */
    struct waker waker;
    struct arena *arena; /* of the statement; who keeps it sets it NULL */
    bool describing;     /* only the columns are wanted: nothing is done */
    bool brief;          /* see sql_is_brief: it may begin on the loop */
    bool constant;       /* it was a SELECT without tables or assignments */
};

/* The values of the ?; NULL: there are none. */
const struct value *opening_parameters(const struct opening *opening);

struct cursor *admin_open(struct opening *opening, struct error *err);
struct cursor *forward_open(struct opening *opening, struct error *err);
struct cursor *show_open(struct opening *opening, struct error *err);
struct cursor *set_open(struct opening *opening, struct error *err);
uint64_t select_count(void); /* SELECTs that were opened to be read */
struct cursor *select_open(struct opening *opening, struct error *err);
/* Without a statement or an arena; takes the plan. */
struct cursor *select_open_plan(const struct opening *opening,
                                struct select_plan *plan, struct error *err);
struct cursor *maintain_open(struct opening *opening, struct error *err);
struct cursor *explain_open(struct opening *opening, struct error *err);
struct cursor *import_open(struct opening *opening, struct error *err);
struct cursor *prepare_open(struct opening *opening, struct error *err);
struct cursor *deallocate_open(struct opening *opening, struct error *err);
struct cursor *do_open(struct opening *opening, struct error *err);

#endif
