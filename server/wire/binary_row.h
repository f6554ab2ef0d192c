/*
 * binary_row.h - one row of a prepared statement's result.
 *
 * Pure.  Each value is converted to its column's declared type: numbers are
 * parsed from texts and cut to their range, temporal texts are split into parts
 * (zero length if invalid), everything else is a text.  A value that no column
 * type can hold (infinity, a value of a NULL column) is NULL.
 */
#ifndef HW_BINARY_ROW_H
#define HW_BINARY_ROW_H

#include <stddef.h>

#include "buffer.h"
#include "cursor.h"

void binary_row_put(struct buffer *out, const struct column *columns,
                    const struct value *values, size_t count);

#endif
