/* select_into.h - SELECT ... INTO @a, @b: one row becomes user variables. */
#ifndef HW_SELECT_INTO_H
#define HW_SELECT_INTO_H

#include <stddef.h>

#include "reader.h"

struct cursor;
struct error;
struct opening;

/* Takes rows, also on failure.  The names must last as long as the cursor. */
struct cursor *select_into(const struct opening *opening, struct cursor *rows,
                           const struct span *names, size_t count,
                           struct error *err);

/* The same for DO, which drops the row. */
struct cursor *select_into_nothing(struct cursor *rows, struct error *err);

#endif
