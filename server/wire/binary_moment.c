/* binary_moment.c - see binary_moment.h. */
#include "binary_moment.h"

#include "buffer.h"

enum {
    DATE_BYTES = 4,
    DATETIME_BYTES = 7,
    DATETIME_FULL = 11, /* with microseconds */
    TIME_BYTES = 8,
    TIME_FULL = 12,
    DAYS_MAX = 34 /* TIME ends at 838 hours */
};

static void
put_clock(struct buffer *out, int64_t micros)
{
    int64_t seconds = micros / MOMENT_SECOND;

    buffer_u8(out, (uint8_t)(seconds / 3600 % 24));
    buffer_u8(out, (uint8_t)(seconds / 60 % 60));
    buffer_u8(out, (uint8_t)(seconds % 60));
    if (micros % MOMENT_SECOND)
        buffer_u32(out, (uint32_t)(micros % MOMENT_SECOND));
}

static void
put_time(struct buffer *out, const struct moment *t)
{
    int64_t micros = moment_size(t);

    if (micros == 0) {
        buffer_u8(out, 0);
        return;
    }
    buffer_u8(out, micros % MOMENT_SECOND ? TIME_FULL : TIME_BYTES);
    buffer_u8(out, t->micros < 0);
    buffer_u32(out, (uint32_t)(micros / MOMENT_DAY));
    put_clock(out, micros);
}

void
binary_moment_put(struct buffer *out, enum moment_kind kind,
                  const struct moment *t)
{
    bool clock = kind == MOMENT_DATETIME && t->micros != 0;

    if (kind == MOMENT_TIME) {
        put_time(out, t);
        return;
    }
    if (!clock && !t->year && !t->month && !t->day) {
        buffer_u8(out, 0);
        return;
    }
    buffer_u8(out, !clock                      ? DATE_BYTES
                   : t->micros % MOMENT_SECOND ? DATETIME_FULL
                                               : DATETIME_BYTES);
    buffer_u16(out, (uint16_t)t->year);
    buffer_u8(out, (uint8_t)t->month);
    buffer_u8(out, (uint8_t)t->day);
    if (clock)
        put_clock(out, t->micros);
}

static bool
read_clock(struct reader *r, bool full, struct moment *t)
{
    int64_t hour = reader_u8(r), minute = reader_u8(r), second = reader_u8(r);
    uint32_t micros = full ? reader_u32(r) : 0;

    t->micros = ((hour * 60 + minute) * 60 + second) * MOMENT_SECOND + micros;
    t->digits = micros == 0 ? 0 : micros % 1000 == 0 ? 3 : 6;
    return hour < 24 && minute < 60 && second < 60 && micros < MOMENT_SECOND;
}

static bool
read_time(struct reader *r, struct moment *t)
{
    uint8_t size = reader_u8(r);
    bool negative, valid;
    uint32_t days;

    if (size != 0 && size != TIME_BYTES && size != TIME_FULL)
        r->failed = true;
    if (size == 0 || r->failed)
        return true;
    negative = reader_u8(r) != 0;
    days = reader_u32(r);
    valid = read_clock(r, size == TIME_FULL, t) && days <= DAYS_MAX;
    if (valid)
        t->micros += days * MOMENT_DAY;
    if (negative)
        t->micros = -t->micros;
    return valid;
}

bool
binary_moment_read(struct reader *r, enum moment_kind kind, struct moment *out)
{
    bool valid = true;
    uint8_t size;

    *out = (struct moment){.kind = kind};
    if (kind == MOMENT_TIME)
        return read_time(r, out);
    size = reader_u8(r);
    if (size != 0 && size != DATE_BYTES && size != DATETIME_BYTES &&
        size != DATETIME_FULL)
        r->failed = true;
    if (size >= DATE_BYTES) {
        out->year = reader_u16(r);
        out->month = reader_u8(r);
        out->day = reader_u8(r);
    }
    if (size >= DATETIME_BYTES)
        valid = read_clock(r, size == DATETIME_FULL, out);
    return valid && out->year <= MOMENT_YEAR_MAX && out->month <= 12 &&
           out->day <= 31;
}
