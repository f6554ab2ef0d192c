/* opening.h - what opens a statement's cursor is given. */
#ifndef HW_OPENING_H
#define HW_OPENING_H

#include <stdbool.h>
#include <stddef.h>

#include "sql.h"
#include "waker.h"

struct arena;
struct statement;

struct opening {
    struct sql_session *session;
    const struct statement *statement;
    const struct sql_parameters *parameters; /* NULL: none were given */
    struct waker waker;
    struct arena *arena; /* of the statement; a taker sets it to NULL */
    bool describing;     /* only the columns are wanted: nothing is done */
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
