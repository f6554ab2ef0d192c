/* select_functions.h - the functions behind select_functions.c's table. */
#ifndef HW_SELECT_FUNCTIONS_H
#define HW_SELECT_FUNCTIONS_H

#include <sqlite3.h>

#include "reader.h"

/* A text argument, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
void function_text(sqlite3_context *c, const char *text, size_t size);

void f_now(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_today(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_clock(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_unix_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_timediff(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_concat(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_concat_ws(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_if(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_left(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_right(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_char_length(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_length(sqlite3_context *c, int argc, sqlite3_value **argv);
void f_like(sqlite3_context *c, int argc, sqlite3_value **argv);

#endif
