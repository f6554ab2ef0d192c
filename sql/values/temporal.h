/*
 * temporal.h - MySQL's dates and times as texts and numbers, and days between
 * them.
 *
 * Pure functions: no clock, no time zone.
 */
#ifndef HW_TEMPORAL_H
#define HW_TEMPORAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

enum {
    TEMPORAL_TEXT = 48, /* bytes of any kind as text, with its NUL */
    TEMPORAL_YEAR_MAX = 9999,
    TEMPORAL_DAYS_MAX = 3652424 /* the last day */
};

#define TEMPORAL_SECOND     INT64_C(1000000) /* microseconds */
#define TEMPORAL_DAY        (INT64_C(86400) * TEMPORAL_SECOND)
#define TEMPORAL_UNIX_EPOCH (INT64_C(719528) * TEMPORAL_DAY) /* 1970-01-01 */
#define TEMPORAL_TIME_MAX   (INT64_C(3020399) * TEMPORAL_SECOND) /* 838:59:59 */

enum temporal_kind { TEMPORAL_DATE, TEMPORAL_DATETIME, TEMPORAL_TIME };

struct temporal {
    enum temporal_kind kind;
    int year, month, day;
    /* since midnight; the whole of a TIME, which may be negative */
    int64_t micros;
    unsigned digits; /* digits of the fraction that are shown, at most 6 */
    bool more;       /* the text that it was read from goes on behind it */
    bool beyond;     /* a TIME past TEMPORAL_TIME_MAX, which it is now */
};

/* Reads a DATE or a DATETIME in any of MySQL's spellings; behind a time, an
 * offset from UTC counts: +02:00 or Z.  False: invalid. */
bool temporal_parse(struct span text, struct temporal *out);
/* Reads a TIME as well: 10:11, 101112, 1 10:11:12, or a DATETIME. */
bool temporal_parse_time(struct span text, struct temporal *out);

size_t temporal_text(const struct temporal *t, char out[TEMPORAL_TEXT]);

/* Days since 0000-01-01, as TO_DAYS counts, and back. */
int64_t temporal_days(const struct temporal *t);
void temporal_set_days(struct temporal *t, int64_t days);
unsigned temporal_month_days(int year, int month);

/* The micros without their sign. */
int64_t temporal_magnitude(const struct temporal *t);
/* Microseconds since year 0; for a TIME, its own. */
int64_t temporal_micros(const struct temporal *t);
void temporal_set_micros(struct temporal *t, int64_t micros);

#endif
