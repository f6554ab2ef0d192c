/*
 * protobuf.h - writing protocol buffers: fields one after another.
 *
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef HW_PROTOBUF_H
#define HW_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

void protobuf_varint(struct buffer *out, uint64_t v);

/* A field that is 0 is not written: that is what its absence means. */
void protobuf_number(struct buffer *out, uint32_t field, uint64_t v);
void protobuf_signed(struct buffer *out, uint32_t field, int64_t v); /* int64 */

/* Strings, messages within, and packed numbers. */
void protobuf_bytes(struct buffer *out, uint32_t field, const void *data,
                    size_t size);

#endif
