/*
 * bound_text.h - a statement as a person reads it: values in place of ?.
 *
 * For the log only, and never parsed again.
 */
#ifndef HW_BOUND_TEXT_H
#define HW_BOUND_TEXT_H

#include "buffer.h"
#include "reader.h"
#include "sql.h"

enum { BOUND_TEXT_MAX = 2048 };

/* Appends to an empty buffer what the statement says from its first token on,
 * cut at BOUND_TEXT_MAX.  Without memory it is cut earlier. */
void bound_text_init(struct buffer *out, struct span text,
                     const struct sql_parameters *parameters);
struct span bound_text(const struct buffer *out);

#endif
