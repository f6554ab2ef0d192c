/*
 * row_value.h - the values of rows, in bytes: as text, and as the binary
 * protocol has them.
 *
 * Pure.
 */
#ifndef HW_ROW_VALUE_H
#define HW_ROW_VALUE_H

#include <stddef.h>

#include "buffer.h"
#include "cursor.h"
#include "temporal.h"

struct reader;

/* A value of a text row: a length and a text, or the byte that stands for NULL.
 */
void text_value_put(struct buffer *out, const struct value *value);

/* A row of a prepared statement's result: each value is converted to its
 * column's declared type.  Numbers are parsed from texts and cut to their
 * range, temporal texts are split into parts (zero length if invalid),
 * everything else is a text.  A value that no column type can hold (infinity, a
 * value of a NULL column) is NULL. */
void binary_row_put(struct buffer *out, const struct column *columns,
                    const struct value *values, size_t count);

/* Reads a date or a time; its text shows three digits of fraction if they
 * suffice, else six, and none for zero.  An invalid length makes the reader
 * fail; false: a part is out of range.  Zero dates are within it. */
bool binary_temporal_read(struct reader *r, enum temporal_kind kind,
                          struct temporal *out);

#endif
