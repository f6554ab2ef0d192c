/* function_temporal.h - dates and times as a function's arguments and result.
 */
#ifndef HW_FUNCTION_TEMPORAL_H
#define HW_FUNCTION_TEMPORAL_H

#include <sqlite3.h>
#include <stdbool.h>

#include "temporal.h"
#include "reader.h"

struct temporal;

/* Reads a date, with or without a time.  False: NULL or invalid. */
bool function_datetime(sqlite3_value *value, struct temporal *out);
/* Reads a date or a time; warns where it is past the largest.  False: NULL or
 * invalid. */
bool function_temporal(sqlite3_context *c, sqlite3_value *value,
                       struct temporal *out);
/* Warns (1292) of a time past the largest, which is the result instead. */
void function_warn_time(sqlite3_context *c, sqlite3_value *value);
/* Digits of the fraction of a number of seconds: as written, or all six. */
unsigned function_temporal_digits(sqlite3_value *seconds);
/* Sets the result; NULL outside of the years 0 to TEMPORAL_YEAR_MAX. */
void function_temporal_result(sqlite3_context *c, const struct temporal *t);

struct temporal function_temporal_from_unix(int64_t micros, unsigned digits);

/* 0 is Sunday. */
int function_temporal_weekday(const struct temporal *t);
/* 1 is the first day. */
int function_temporal_day_of_year(const struct temporal *t);
/* WEEK(date, mode): the week's number; *year is the year that the week belongs
 * to. */
int function_temporal_week(const struct temporal *t, int mode, int *year);

/* Sets the result to t, written as DATE_FORMAT does; NULL where a time has no
 * such part. */
void function_format_temporal(sqlite3_context *c, const struct temporal *t,
                              struct span format);

/* Whether STR_TO_DATE reads a date, or a time, for the letter behind %. */
bool function_format_reads_date(char c);
bool function_format_reads_time(char c);

/* Names as DATE_FORMAT and MONTHNAME write them; 0 is January or Sunday. */
const char *function_format_month(int month);
const char *function_format_day(int day);

#endif
