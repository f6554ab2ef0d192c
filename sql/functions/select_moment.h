/* select_moment.h - dates and times as arguments and results. */
#ifndef HW_SELECT_MOMENT_H
#define HW_SELECT_MOMENT_H

#include <stdbool.h>

#include <sqlite3.h>

#include "moment.h"

/* A date or moment; false for NULL and for what is none. */
bool moment_argument(sqlite3_value *value, struct moment *out);
/* Likewise, or a time. */
bool moment_time_argument(sqlite3_value *value, struct moment *out);
/* NULL outside of the years that there are. */
void moment_result(sqlite3_context *c, const struct moment *t);

/* The statement's moment, UTC, with so many digits of fraction. */
struct moment moment_now(sqlite3_context *c, unsigned digits);

/* As DATE_FORMAT. */
void moment_format(sqlite3_context *c, const struct moment *t,
                   struct span format);

/* Letters behind % in a format of STR_TO_DATE. */
bool moment_reads_date(char c);
bool moment_reads_time(char c);

/* The names of DATE_FORMAT and MONTHNAME, from 0: January, Sunday. */
const char *moment_month_name(int month);
const char *moment_day_name(int day);

/* 0: Sunday */
int moment_weekday(const struct moment *t);

/* WEEK(date, mode): the week; *year is that week's. */
int moment_week(const struct moment *t, int mode, int *year);

#endif
