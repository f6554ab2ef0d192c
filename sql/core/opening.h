/* opening.h - what a statement's cursor is opened with. */
#ifndef HW_OPENING_H
#define HW_OPENING_H

#include <stdbool.h>
#include <stddef.h>

#include "sql.h"
#include "waker.h"

struct arena;
struct sql_statement;

struct opening {
    struct sql_session *session;
    const struct sql_statement *statement;
    const struct sql_parameters *parameters; /* NULL: none were given */
    struct waker waker;
    struct arena *arena; /* of the statement; a taker sets it to NULL */
    bool describing;     /* gives the columns only, and does nothing */
    bool brief;          /* see sql_is_brief: it may begin on the loop */
    bool constant;       /* it was a SELECT without tables or assignments */
};

/* The values of the ?; NULL: there are none. */
static inline const struct value *
opening_parameters(const struct opening *opening)
{
    return opening->parameters ? opening->parameters->values : NULL;
}

#endif
