/*
 * function_value.h - a function's arguments and results, as MySQL has them.
 */
#ifndef HW_FUNCTION_VALUE_H
#define HW_FUNCTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "reader.h"

struct buffer;

/* Around each call, on its thread: numbers among its arguments are texts only
 * in between. */
void function_value_begin(int argc, sqlite3_value **argv);
void function_value_end(void);

/* ---- arguments ---- */

/* An argument as text, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
bool function_any_null(int argc, sqlite3_value **argv);
bool function_is_number(sqlite3_value *value);
double function_real(sqlite3_value *value);
/* Rounded, and within the range; past it, the bits of what has no sign. */
int64_t function_integer(sqlite3_value *value);
/* Likewise without a sign: of -1, all of its 64 bits. */
uint64_t function_natural(sqlite3_value *value);
/* A byte without case: ASCII's alone have any. */
unsigned char function_fold(char c);
/* Without case and blanks at the end, as the default collation has it. */
int function_collate(struct span a, struct span b);
/* As <: numbers if one of them is; bytes when binary. */
enum compare_how {
    COMPARE_TEXT,  /* without case */
    COMPARE_BINARY /* byte by byte */
};
int function_compare(sqlite3_value *a, sqlite3_value *b, enum compare_how how);

/* ---- results ---- */

void function_text(sqlite3_context *c, const char *text, size_t size);
void function_bytes(sqlite3_context *c, const void *bytes, size_t size);
/* A text that was bytes; NULL, with a warning, where they are no UTF-8. */
void function_decoded(sqlite3_context *c, struct span text);
/* What text holds; "too big" if it failed.  Frees it. */
void function_buffer(sqlite3_context *c, struct buffer *text);
/* All 64 bits: a text where SQLite's integers end. */
void function_unsigned(sqlite3_context *c, uint64_t value);

#endif
