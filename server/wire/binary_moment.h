/*
 * binary_moment.h - dates and times as the binary protocol has them.
 *
 * Each stands behind a byte of length; zero parts at the end are left out, as
 * MySQL does.  Pure.
 */
#ifndef HW_BINARY_MOMENT_H
#define HW_BINARY_MOMENT_H

#include "moment.h"

struct buffer;
struct reader;

/* Writes the parts of t that a value of this kind has. */
void binary_moment_put(struct buffer *out, enum moment_kind kind,
                       const struct moment *t);

/* Reads one back; its text shows three digits of fraction if they suffice, else
 * six, and none for zero.  An invalid length makes the reader fail; false: a
 * part is out of range.  Zero dates are in it. */
bool binary_moment_read(struct reader *r, enum moment_kind kind,
                        struct moment *out);

#endif
