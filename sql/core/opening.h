/* opening.h - the statement and the session that a cursor is opened for. */
#ifndef HW_OPENING_H
#define HW_OPENING_H

#include <stdbool.h>
#include <stddef.h>

#include "sql.h"

struct arena;
struct await;
struct sql_statement;

struct opening {
    struct sql_session *session;
    const struct sql_statement *statement;
    const struct sql_parameters
        *parameters;     /* NULL: the statement has no values for its ? */
    struct await *await; /* NULL: it never waits */
    struct arena
        *arena; /* the statement's; a cursor that takes it sets it to NULL */
    bool describing; /* gives only the columns and does nothing else */
    bool constant;   /* set if it is a SELECT without tables or assignments */
};

/* It computes for long from now on (await_compute).  -1 with *err: it is over.
 */
int opening_compute(const struct opening *opening, struct error *err);

/* The values of the ?, in order; NULL: none. */
static inline const struct value *
opening_parameters(const struct opening *opening)
{
    return opening->parameters ? opening->parameters->values : NULL;
}

#endif
