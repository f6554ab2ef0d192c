/*
 * function_value.h - a function's arguments and results, in MySQL's terms.
 */
#ifndef HW_FUNCTION_VALUE_H
#define HW_FUNCTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "reader.h"

struct buffer;

/* Call them around each function, on its thread: they hold the texts of
 * arguments that are numbers. */
void function_value_begin(int argc, sqlite3_value **argv);
void function_value_end(void);

/* ---- arguments ---- */

/* An argument as text, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
bool function_any_null(int argc, sqlite3_value **argv);
bool function_is_number(sqlite3_value *value);
double function_real(sqlite3_value *value);
/* Rounded to an integer in range; past it, with the bits of an unsigned one. */
int64_t function_integer(sqlite3_value *value);
/* The same, unsigned: -1 has all 64 bits. */
uint64_t function_natural(sqlite3_value *value);
/* How texts compare; if either value is a number, both compare as numbers. */
enum compare_how {
    COMPARE_TEXT,  /* collate_compare; bytes as bytes */
    COMPARE_BIN,   /* collate_compare_bin */
    COMPARE_NUMBER /* as numbers, also two texts */
};
int function_compare(sqlite3_value *a, sqlite3_value *b, enum compare_how how);

/* ---- results ---- */

void function_text(sqlite3_context *c, const char *text, size_t size);
void function_bytes(sqlite3_context *c, const void *bytes, size_t size);
/* Sets a text from bytes; NULL, with a warning, if they are not UTF-8. */
void function_decoded(sqlite3_context *c, struct span text);
/* Sets the buffer's text, or "too big" if it failed; frees the buffer. */
void function_buffer(sqlite3_context *c, struct buffer *text);
/* Sets 64 bits without a sign; as a text past SQLite's integers. */
void function_unsigned(sqlite3_context *c, uint64_t value);

#endif
