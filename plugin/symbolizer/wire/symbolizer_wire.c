/*
 * symbolizer_wire.c - see symbolizer_wire.h.
 *
 * Both sides write with wire_put_* and parse with the bounded reader.  The
 * client trusts nothing that the helper sends, since a hostile object may have
 * taken it over; the helper checks requests as strictly, which costs nothing
 * and finds a client of another version.  The version comes before all other
 * fields, so that it can be read whatever they are.
 */
#include "symbolizer_wire.h"

#include <string.h>

#include "buffer.h"

/* Writes a message's head; its length is filled in by end_wire_message.
 * Returns the position of the head. */
static size_t
begin_wire_message(struct buffer *out, enum wire_type type)
{
    size_t mark = out->size;

    buffer_u32(out, 0);
    buffer_u8(out, (uint8_t)type);
    return mark;
}

static void
end_wire_message(struct buffer *out, size_t mark)
{
    size_t size = out->size - mark - WIRE_HEAD;

    /* then data may not reach up to mark */
    if (out->failed)
        return;
    for (size_t i = 0; i < WIRE_HEAD; i++)
        out->data[mark + i] = (char)(size >> (8 * i) & 0xff);
}

/* Cuts a text that is too long for the receiver, and shows that by "...". */
static void
put_limited_text(struct buffer *out, const char *text, size_t max)
{
    static const char more[] = "...";
    size_t size = strnlen(text, max + 1);

    if (size <= max) {
        buffer_lenenc_bytes(out, text, size);
        return;
    }
    buffer_lenenc(out, max);
    buffer_add(out, text, max - strlen(more));
    buffer_text(out, more);
}

void
wire_put_request(struct buffer *out, const char *path, unsigned flags,
                 const uint64_t *offsets, uint32_t count)
{
    size_t mark = begin_wire_message(out, WIRE_NAME);

    buffer_u8(out, WIRE_VERSION);
    buffer_u8(out, (uint8_t)flags);
    put_limited_text(out, path, WIRE_PATH_MAX);
    buffer_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        buffer_u64(out, offsets[i]);
    end_wire_message(out, mark);
}

void
wire_put_text(struct buffer *out, const char *text, size_t max)
{
    size_t mark = begin_wire_message(out, WIRE_TEXT);

    put_limited_text(out, text, max);
    end_wire_message(out, mark);
}

void
wire_put_answer(struct buffer *out, uint64_t start, uint32_t symbol,
                const struct wire_frame *frames, uint32_t frame_count)
{
    size_t mark = begin_wire_message(out, WIRE_ANSWER);

    buffer_u64(out, start);
    buffer_lenenc(out, symbol);
    buffer_u8(out, (uint8_t)frame_count);
    for (uint32_t i = 0; i < frame_count; i++) {
        buffer_lenenc(out, frames[i].function);
        buffer_lenenc(out, frames[i].file);
        buffer_u32(out, frames[i].line);
    }
    end_wire_message(out, mark);
}

void
wire_put_part(struct buffer *out, const void *data, size_t size)
{
    size_t mark = begin_wire_message(out, WIRE_PART);

    buffer_add(out, data, size);
    end_wire_message(out, mark);
}

void
wire_put_refused(struct buffer *out, const char *why)
{
    size_t mark = begin_wire_message(out, WIRE_REFUSED);

    put_limited_text(out, why, WIRE_COMPLAINT_MAX);
    end_wire_message(out, mark);
}

void
wire_put_done(struct buffer *out, const char *complaint)
{
    size_t mark = begin_wire_message(out, WIRE_DONE);

    put_limited_text(out, complaint, WIRE_COMPLAINT_MAX);
    end_wire_message(out, mark);
}

enum wire_framing
wire_next(const void *data, size_t size, size_t max, struct span *payload)
{
    struct reader r = reader_of(data, size);
    uint32_t length = reader_u32(&r);

    if (r.failed)
        return WIRE_MORE;
    /* refused by the length alone, before memory for the message is taken */
    if (length == 0 || length > max)
        return WIRE_BAD;
    *payload = reader_bytes(&r, length);
    return r.failed ? WIRE_MORE : WIRE_READY;
}

static struct span
parse_limited_text(struct reader *r, size_t max)
{
    struct span text = reader_lenenc_bytes(r);

    if (text.size > max)
        r->failed = true;
    return text;
}

/* Whether the flags make sense together: a request for an index or a table has
 * no other flags, and no addresses. */
static bool
flags_fit(unsigned flags, uint32_t count)
{
    const unsigned known = WIRE_SYMBOLS_ONLY | WIRE_HAS_INDEX | WIRE_NO_LINES;

    if (flags & WIRE_MAKE_INDEX)
        return (flags & ~(WIRE_MAKE_INDEX | WIRE_SYMBOLS_DO)) == 0 &&
               count == 0;
    if (flags & WIRE_MAKE_UNWIND)
        return flags == WIRE_MAKE_UNWIND && count == 0;
    return (flags & ~known) == 0;
}

bool
wire_parse_request(struct span payload, struct wire_request *out)
{
    struct reader r = reader_of(payload.data, payload.size);
    uint8_t type = reader_u8(&r), flags;
    struct span offsets;

    out->version = reader_u8(&r);
    /* known enough to answer: the helper exits with WIRE_EXIT_VERSION */
    if (out->version != WIRE_VERSION)
        return !r.failed && type == WIRE_NAME;
    flags = reader_u8(&r);
    out->symbols_only = (flags & WIRE_SYMBOLS_ONLY) != 0;
    out->has_index = (flags & WIRE_HAS_INDEX) != 0;
    out->make_index = (flags & WIRE_MAKE_INDEX) != 0;
    out->no_lines = (flags & WIRE_NO_LINES) != 0;
    out->symbols_do = (flags & WIRE_SYMBOLS_DO) != 0;
    out->make_unwind = (flags & WIRE_MAKE_UNWIND) != 0;
    out->path = parse_limited_text(&r, WIRE_PATH_MAX);
    out->count = reader_u32(&r);
    offsets = reader_rest(&r);
    out->offsets = reader_of(offsets.data, offsets.size);
    return !r.failed && type == WIRE_NAME && flags_fit(flags, out->count) &&
           out->count <= WIRE_ADDRESSES_MAX &&
           offsets.size == (size_t)out->count * 8;
}

static uint32_t
parse_wire_text_number(struct reader *r)
{
    uint64_t number = reader_lenenc(r);

    if (number > WIRE_TEXTS_MAX)
        r->failed = true;
    return r->failed ? 0 : (uint32_t)number;
}

static void
parse_answer(struct reader *r, struct wire_reply *out)
{
    out->start = reader_u64(r);
    out->symbol = parse_wire_text_number(r);
    out->frame_count = reader_u8(r);
    if (out->frame_count == 0 || out->frame_count > NAMES_INLINE_MAX) {
        r->failed = true;
        return;
    }
    for (uint32_t i = 0; i < out->frame_count; i++) {
        out->frames[i].function = parse_wire_text_number(r);
        out->frames[i].file = parse_wire_text_number(r);
        out->frames[i].line = reader_u32(r);
        /* among several frames an unknown function is "??", never nothing */
        if (out->frames[i].function == 0 && out->frame_count > 1)
            r->failed = true;
    }
}

/* Checks each field as far as one message can be checked; what depends on the
 * request is helper_exchange.c's. */
bool
wire_parse_reply(struct span payload, struct wire_reply *out)
{
    struct reader r = reader_of(payload.data, payload.size);

    out->type = (enum wire_type)reader_u8(&r);
    switch (out->type) {
    case WIRE_ANSWER:
        parse_answer(&r, out);
        break;
    case WIRE_TEXT:
        out->text = parse_limited_text(&r, WIRE_NAME_MAX);
        r.failed |= out->text.size == 0;
        break;
    case WIRE_REFUSED:
    case WIRE_DONE:
        out->complaint = parse_limited_text(&r, WIRE_COMPLAINT_MAX);
        break;
    case WIRE_PART:
        out->part = reader_rest(&r);
        r.failed |= out->part.size == 0 || out->part.size > WIRE_PART_MAX;
        break;
    default:
        return false;
    }
    return reader_done(&r);
}
