/*
 * buffer.h - a growable run of bytes with a ceiling fixed at init.
 *
 * Appending past the ceiling or without memory fails, and failure sticks:
 * append straight through, check failed once.
 */
#ifndef HW_BUFFER_H
#define HW_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reader.h"

struct buffer {
    char *data; /* NUL-terminated once anything was added */
    size_t size, capacity, max;
    bool failed; /* sticky */
};

void buffer_init(struct buffer *b, size_t max);
void buffer_fini(struct buffer *b);  /* zeroed struct is fine */
void buffer_clear(struct buffer *b); /* keeps the memory */
void buffer_drop_front(struct buffer *b, size_t size);

void buffer_add(struct buffer *b, const void *data, size_t size);
void buffer_text(struct buffer *b, const char *text);
/* The same, behind "; " if there is text before. */
void buffer_sentence(struct buffer *b, const char *text);
void buffer_char(struct buffer *b, char c);
void buffer_format(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Little-endian, LEB128 (the varint of protocol buffers), and MySQL's
 * length-encoded forms. */
void buffer_u8(struct buffer *b, uint8_t v);
void buffer_u16(struct buffer *b, uint16_t v);
void buffer_u24(struct buffer *b, uint32_t v);
void buffer_u32(struct buffer *b, uint32_t v);
void buffer_u64(struct buffer *b, uint64_t v);
void buffer_double(struct buffer *b, double v); /* its bits */
void buffer_leb(struct buffer *b, uint64_t v);
void buffer_lenenc(struct buffer *b, uint64_t v);
void buffer_lenenc_bytes(struct buffer *b, const void *data, size_t size);

/* Room for size more bytes at the end, to be claimed by buffer_claim;
 * NULL when there is none (and the buffer has failed). */
char *buffer_reserve(struct buffer *b, size_t size);
void buffer_claim(struct buffer *b, size_t size);

/* All bytes; "" without any. */
static inline struct span
buffer_span(const struct buffer *b)
{
    return (struct span){b->data ? b->data : "", b->size};
}

/* buffer_fini, after its memory was overwritten: it held a secret. */
static inline void
buffer_wipe(struct buffer *b)
{
    if (b->data)
        explicit_bzero(b->data, b->capacity);
    buffer_fini(b);
}

#endif
