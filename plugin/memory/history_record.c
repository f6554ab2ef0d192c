/* history_record.c - see history_record.h; the layout stands in history.c. */
#include "history_record.h"

#include <string.h>

#include "buffer.h"
#include "hash.h"
#include "reader.h"

enum {
    FLAG_PROFILING = 1,
    FLAG_UNRESPONSIVE = 2,
    BODY = HISTORY_RECORD - 8, /* in front of the checksum */
    FIGURES = 10
};

static const uint64_t magic = 0x0079726f74736968; /* "history" */
/* Samples of nine million years: a higher number is damage, and would make
 * history_open() continue from there. */
static const uint64_t number_max = (uint64_t)1 << 48;
static const int64_t at_max_ms = 253402300799999; /* year 9999 */

static uint64_t
compute_record_checksum(const uint8_t record[HISTORY_RECORD])
{
    struct reader r = reader_of(record, BODY);
    uint64_t sum = magic;

    while (reader_left(&r) > 0)
        sum = hash_mix(sum, reader_u64(&r));
    return sum;
}

/* Fills up the record with zeros and adds the checksum. */
static void
seal_history_record(struct buffer *b, uint8_t record[HISTORY_RECORD])
{
    uint64_t sum;

    memset(record, 0, HISTORY_RECORD);
    memcpy(record, b->data, b->size);
    sum = compute_record_checksum(record);
    for (int i = 0; i < 8; i++)
        record[BODY + i] = (uint8_t)(sum >> 8 * i);
}

static bool
is_sealed(const uint8_t record[HISTORY_RECORD])
{
    struct reader r = reader_of(record + BODY, 8);

    return reader_u64(&r) == compute_record_checksum(record);
}

static struct stats_figure *
figure_at(struct history_sample *s, int i)
{
    struct stats_figure *const figures[FIGURES] = {
        &s->rss,       &s->cgroup_current, &s->cgroup_cache, &s->cgroup_limit,
        &s->allocated, &s->active,         &s->metadata,     &s->resident,
        &s->mapped,    &s->retained};

    return figures[i];
}

bool
history_record_head(uint8_t record[HISTORY_RECORD], uint32_t version,
                    uint32_t samples)
{
    struct buffer b;

    buffer_init(&b, BODY);
    buffer_u64(&b, magic);
    buffer_u32(&b, version);
    buffer_u32(&b, HISTORY_RECORD);
    buffer_u32(&b, samples);
    if (!b.failed)
        seal_history_record(&b, record);
    buffer_fini(&b);
    return !b.failed;
}

bool
history_record_encode(const struct history_sample *sample, uint64_t number,
                      uint8_t record[HISTORY_RECORD])
{
    struct history_sample s = *sample;
    struct buffer b;
    bool failed;

    buffer_init(&b, BODY);
    buffer_u64(&b, number);
    buffer_u64(&b, (uint64_t)s.at_ms);
    buffer_u32(&b, (uint32_t)s.pid);
    buffer_u32(&b, (s.profiling ? FLAG_PROFILING : 0u) |
                       (s.unresponsive ? FLAG_UNRESPONSIVE : 0u));
    buffer_u64(&b, s.start_ticks);
    buffer_u64(&b, (uint64_t)s.started_ms);
    for (int i = 0; i < FIGURES; i++) {
        struct stats_figure *figure = figure_at(&s, i);

        buffer_u64(&b, figure->known ? figure->value : UINT64_MAX);
    }
    failed = b.failed;
    if (!failed)
        seal_history_record(&b, record);
    buffer_fini(&b);
    return !failed;
}

uint64_t
history_record_decode(const uint8_t *record, struct history_sample *out)
{
    struct reader r = reader_of(record, BODY);
    uint64_t number = reader_u64(&r);
    uint32_t flags;

    memset(out, 0, sizeof(*out));
    out->at_ms = (int64_t)reader_u64(&r);
    out->pid = (int32_t)reader_u32(&r);
    flags = reader_u32(&r);
    out->profiling = flags & FLAG_PROFILING;
    out->unresponsive = flags & FLAG_UNRESPONSIVE;
    out->start_ticks = reader_u64(&r);
    out->started_ms = (int64_t)reader_u64(&r);
    for (int i = 0; i < FIGURES; i++) {
        uint64_t value = reader_u64(&r);

        /* UINT64_MAX stands for unknown; so does any other value above what a
         * column can hold. */
        if (value <= INT64_MAX)
            *figure_at(out, i) = (struct stats_figure){true, value};
    }
    if (r.failed || !is_sealed(record) || number > number_max ||
        out->at_ms < 0 || out->at_ms > at_max_ms || out->started_ms < 0 ||
        out->started_ms > at_max_ms)
        return 0;
    return number;
}
