/*
 * protobuf.h - writes protocol buffers, field by field.
 *
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef HW_PROTOBUF_H
#define HW_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

void protobuf_varint(struct buffer *out, uint64_t v);

/* Omits a field that is 0: its absence means 0. */
void protobuf_number(struct buffer *out, uint32_t field, uint64_t v);
void protobuf_signed(struct buffer *out, uint32_t field, int64_t v); /* int64 */

/* Strings, embedded messages, and packed numbers. */
void protobuf_bytes(struct buffer *out, uint32_t field, const void *data,
                    size_t size);

#endif
