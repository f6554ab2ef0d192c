/* protobuf.c - see protobuf.h. */
#include "protobuf.h"

#include "buffer.h"

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

void
protobuf_varint(struct buffer *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buffer_u8(out, (uint8_t)(v | 0x80));
    buffer_u8(out, (uint8_t)v);
}

void
protobuf_number(struct buffer *out, uint32_t field, uint64_t v)
{
    if (v == 0)
        return;
    protobuf_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
    protobuf_varint(out, v);
}

void
protobuf_signed(struct buffer *out, uint32_t field, int64_t v)
{
    protobuf_number(out, field, (uint64_t)v);
}

void
protobuf_bytes(struct buffer *out, uint32_t field, const void *data,
               size_t size)
{
    protobuf_varint(out, (uint64_t)field << 3 | WIRE_LENGTH);
    protobuf_varint(out, size);
    buffer_add(out, data, size);
}
