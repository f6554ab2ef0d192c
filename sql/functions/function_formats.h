/* function_formats.h - the formats of DATE_FORMAT and STR_TO_DATE. */
#ifndef HW_FUNCTION_FORMATS_H
#define HW_FUNCTION_FORMATS_H

#include <stdbool.h>

#include <sqlite3.h>

#include "reader.h"

struct moment;

/* Sets the result to t, written as DATE_FORMAT does. */
void function_format_moment(sqlite3_context *c, const struct moment *t,
                            struct span format);

/* Whether STR_TO_DATE reads a date, or a time, for the letter behind %. */
bool function_format_reads_date(char c);
bool function_format_reads_time(char c);

/* Names as DATE_FORMAT and MONTHNAME write them; 0 is January or Sunday. */
const char *function_format_month(int month);
const char *function_format_day(int day);

#endif
