/* heap_cell.h - sets the cells of heap_* tables. */
#ifndef HW_HEAP_CELL_H
#define HW_HEAP_CELL_H

#include <math.h>
#include <string.h>

#include "cursor.h"

#define HEAP_SNAPSHOT_COMMENT                                                  \
    "The kept one that a condition on it asks for; else a fresh one, now"

/* Borrows text. */
static inline void
cell_text(struct value *out, const char *text)
{
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = strlen(text);
}

/* An unknown text is NULL. */
static inline void
cell_known(struct value *out, const char *text)
{
    if (*text)
        cell_text(out, text);
}

static inline void
cell_estimate(struct value *out, double estimate)
{
    out->type = VALUE_INT;
    out->integer = estimate >= 0x1p63    ? INT64_MAX
                   : estimate <= -0x1p63 ? INT64_MIN
                                         : (int64_t)llround(estimate);
}

#endif
