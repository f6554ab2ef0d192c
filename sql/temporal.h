/*
 * temporal.h - MySQL's dates and times: texts, numbers, and days between.
 *
 * Pure: no clock, no zone.
 */
#ifndef HW_TEMPORAL_H
#define HW_TEMPORAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

enum {
    TEMPORAL_TEXT = 48, /* bytes of one as text, with its NUL */
    TEMPORAL_YEAR_MAX = 9999
};

#define TEMPORAL_SECOND   INT64_C(1000000) /* microseconds */
#define TEMPORAL_DAY      (INT64_C(86400) * TEMPORAL_SECOND)
#define TEMPORAL_TIME_MAX (INT64_C(3020399) * TEMPORAL_SECOND) /* 838:59:59 */

enum temporal_kind { TEMPORAL_DATE, TEMPORAL_DATETIME, TEMPORAL_TIME };

struct temporal {
    enum temporal_kind kind;
    int year, month, day;
    int64_t micros;  /* of the day; a TIME's own, which may be negative */
    unsigned digits; /* of the fraction that is shown: 0 or 6 */
};

/* A date or a moment, in any of MySQL's spellings; false: it is none. */
bool temporal_parse(struct span text, struct temporal *out);
/* Likewise, where a time stands: 10:11, 101112, 1 10:11:12, or a moment. */
bool temporal_parse_time(struct span text, struct temporal *out);

size_t temporal_text(const struct temporal *t, char out[TEMPORAL_TEXT]);

/* Days since 0000-01-01, as TO_DAYS counts, and back. */
int64_t temporal_days(const struct temporal *t);
void temporal_set_days(struct temporal *t, int64_t days);
unsigned temporal_month_days(int year, int month);

/* Microseconds since year 0; of a TIME, its own. */
int64_t temporal_micros(const struct temporal *t);
void temporal_set_micros(struct temporal *t, int64_t micros);

#endif
