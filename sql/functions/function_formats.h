/* function_formats.h - the formats of DATE_FORMAT and STR_TO_DATE. */
#ifndef HW_FUNCTION_FORMATS_H
#define HW_FUNCTION_FORMATS_H

#include <stdbool.h>

#include <sqlite3.h>

#include "reader.h"

struct moment;

/* As DATE_FORMAT. */
void function_format_moment(sqlite3_context *c, const struct moment *t,
                            struct span format);

/* Whether STR_TO_DATE reads a date, or a time, by the letter behind %. */
bool function_format_reads_date(char c);
bool function_format_reads_time(char c);

/* The names of DATE_FORMAT and MONTHNAME, from 0: January, Sunday. */
const char *function_format_month(int month);
const char *function_format_day(int day);

#endif
