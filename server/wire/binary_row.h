/*
 * binary_row.h - one row of a prepared statement's result.
 *
 * Pure.  Each value is converted to what its column is declared to be: numbers
 * are read out of texts and cut to their range, temporal values are texts that
 * become parts (zero length where they are none), everything else is a text.
 * What no column type can hold (infinity, a value of a NULL column) is NULL.
 */
#ifndef HW_BINARY_ROW_H
#define HW_BINARY_ROW_H

#include <stddef.h>

#include "buffer.h"
#include "cursor.h"

void binary_row_put(struct buffer *out, const struct column *columns,
                    const struct value *values, size_t count);

#endif
