/* select_temporal.h - dates and times as arguments and results. */
#ifndef HW_SELECT_TEMPORAL_H
#define HW_SELECT_TEMPORAL_H

#include "select_functions.h"
#include "temporal.h"

/* A date or moment; false for NULL and for what is none. */
bool temporal_argument(sqlite3_value *value, struct temporal *out);
/* Likewise, or a time. */
bool temporal_time_argument(sqlite3_value *value, struct temporal *out);
void temporal_result(sqlite3_context *c, const struct temporal *t);

/* The statement's moment, UTC, with so many digits of fraction. */
struct temporal temporal_now(sqlite3_context *c, unsigned digits);

/* As DATE_FORMAT. */
void temporal_format(sqlite3_context *c, const struct temporal *t,
                     struct span format);

/* The names of DATE_FORMAT and MONTHNAME, from 0: January, Sunday. */
const char *temporal_month_name(int month);
const char *temporal_day_name(int day);

/* WEEK(date, mode): the week; *year is that week's. */
int temporal_week(const struct temporal *t, int mode, int *year);

#endif
