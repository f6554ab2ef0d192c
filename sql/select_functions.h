/* select_functions.h - the functions behind select_functions.c's table. */
#ifndef HW_SELECT_FUNCTIONS_H
#define HW_SELECT_FUNCTIONS_H

#include <sqlite3.h>

#include "reader.h"

/* A text argument, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
void function_text(sqlite3_context *c, const char *text, size_t size);

void function_now(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_today(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_clock(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_unix_timestamp(sqlite3_context *c, int argc,
                             sqlite3_value **argv);
void function_timediff(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_concat(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_concat_ws(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_if(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_left(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_right(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_char_length(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_length(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_like(sqlite3_context *c, int argc, sqlite3_value **argv);

#endif
