/*
 * temporal.h - dates and times: as texts, and as the binary protocol has them.
 *
 * Pure.  Inside heapwire they are texts: 2026-11-21, 2026-11-21 12:00:00[.f],
 * [-]hhh:mm:ss[.f] with one to six digits f.
 */
#ifndef HW_TEMPORAL_H
#define HW_TEMPORAL_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "reader.h"

enum {
    TEMPORAL_TEXT_MAX = 32, /* of any, with its NUL */
    TEMPORAL_DAYS_MAX = 34  /* TIME ends at 838 hours */
};

struct temporal {
    bool negative; /* TIME only */
    uint16_t year;
    uint8_t month, day;
    uint32_t hour; /* of TIME: days included */
    uint8_t minute, second;
    uint32_t microsecond;
};

/* False if invalid.  A date alone is a datetime at midnight; the date of a
 * datetime drops its time. */
bool temporal_parse_datetime(struct span text, struct temporal *out);
bool temporal_parse_time(struct span text, struct temporal *out);

/* The binary forms, each behind a byte of length.  Zero parts at the end are
 * left out, as MySQL does. */
void temporal_put_date(struct buffer *out, const struct temporal *t);
void temporal_put_datetime(struct buffer *out, const struct temporal *t);
void temporal_put_time(struct buffer *out, const struct temporal *t);

/* Reads them back.  An invalid length makes the reader fail; false: a part is
 * out of range. */
bool temporal_read_datetime(struct reader *r, struct temporal *out);
bool temporal_read_time(struct reader *r, struct temporal *out);

/* Three digits of fraction if they suffice, else six; none for zero.  Returns
 * the length. */
int temporal_print_date(const struct temporal *t, char out[TEMPORAL_TEXT_MAX]);
int temporal_print_datetime(const struct temporal *t,
                            char out[TEMPORAL_TEXT_MAX]);
int temporal_print_time(const struct temporal *t, char out[TEMPORAL_TEXT_MAX]);

#endif
