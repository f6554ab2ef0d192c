/* function_moment.h - dates and times as arguments and results of functions. */
#ifndef HW_FUNCTION_MOMENT_H
#define HW_FUNCTION_MOMENT_H

#include <stdbool.h>

#include <sqlite3.h>

#include "moment.h"

/* A date, with or without a time.  False if NULL or invalid. */
bool function_moment(sqlite3_value *value, struct moment *out);
/* Likewise, or a time. */
bool function_moment_or_time(sqlite3_value *value, struct moment *out);
/* NULL outside of the years 0 to MOMENT_YEAR_MAX. */
void function_moment_result(sqlite3_context *c, const struct moment *t);

/* 0: Sunday */
int function_moment_weekday(const struct moment *t);
/* From 1. */
int function_moment_day_of_year(const struct moment *t);
/* WEEK(date, mode): the week; *year is that week's. */
int function_moment_week(const struct moment *t, int mode, int *year);

#endif
