/*
 * infer.h - what the columns of a SELECT are declared to be, out of its text.
 *
 * SQLite's values have types and its expressions have none; a client is told
 * the types before there is a value.  The text is one that SQLite took: what
 * is not understood here is text, and never an error.
 */
#ifndef HW_INFER_H
#define HW_INFER_H

#include "cursor.h"
#include "rewrite.h"

struct result_type {
    enum column_type type;
    uint32_t width;
    uint16_t flags;
    uint8_t decimals;
    bool past;    /* an integer that may be past 63 bits */
    bool unknown; /* text for want of a better one */
};

/* Of a column that says nothing else. */
struct result_type result_type_of(enum column_type type);

/*
 * The types of the columns that names has the labels of.  -1 without memory
 * in the rewrite's arena.
 */
int infer_types(const struct rewrite *rewrite, const char *const *names,
                size_t count, struct result_type *out);

#endif
