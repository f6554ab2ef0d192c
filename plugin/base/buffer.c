/*
 * buffer.c - growable bytes for packets, pages and files.
 *
 * Appending is the most frequent call in rendering, so what is short and finds
 * room is inlined into each append, and growth is out of line.  Capacity
 * doubles, up to the ceiling of buffer_init.  A failed buffer stays failed
 * until it is cleared: the many appends of a renderer need no check each.  A
 * NUL is kept behind the bytes, so that a text can be given to libc as it is.
 */
#include "buffer.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

enum { BUFFER_FIRST = 256 };

void
buffer_init(struct buffer *b, size_t max)
{
    memset(b, 0, sizeof(*b));
    b->max = max;
}

void
buffer_fini(struct buffer *b)
{
    mem_free(b->data);
    memset(b, 0, sizeof(*b));
}

/* Keeps the memory, and forgets the failure: the next content starts afresh. */
void
buffer_clear(struct buffer *b)
{
    b->size = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

void
buffer_drop_front(struct buffer *b, size_t size)
{
    if (size > b->size)
        size = b->size;
    if (size == 0)
        return;
    memmove(b->data, b->data + size, b->size - size);
    b->size -= size;
    b->data[b->size] = '\0';
}

/* Doubling makes all copying together linear.  size was compared with what is
 * left of max, so no sum below can overflow. */
static char *
grow_buffer_capacity(struct buffer *b, size_t size)
{
    size_t wanted, capacity;
    char *grown;

    if (b->failed || size > b->max - b->size) {
        b->failed = true;
        return NULL;
    }
    wanted = b->size + size + 1; /* the terminating NUL */
    capacity = b->capacity ? b->capacity : BUFFER_FIRST;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > b->max + 1)
        capacity = b->max + 1;
    grown = mem_realloc(b->data, capacity);
    if (!grown) {
        b->failed = true;
        return NULL;
    }
    b->data = grown;
    b->capacity = capacity;
    return b->data + b->size;
}

/* Inlined: nearly everything that is appended is short and finds room. */
static inline char *
ensure_buffer_space(struct buffer *b, size_t size)
{
    if (!b->failed && size <= b->max - b->size &&
        size < b->capacity - b->size) /* with the terminating NUL */
        return b->data + b->size;
    return grow_buffer_capacity(b, size);
}

char *
buffer_reserve(struct buffer *b, size_t size)
{
    return ensure_buffer_space(b, size);
}

void
buffer_claim(struct buffer *b, size_t size)
{
    b->size += size;
    b->data[b->size] = '\0';
}

static inline void
append_buffer_bytes(struct buffer *b, const void *data, size_t size)
{
    char *room = ensure_buffer_space(b, size);

    if (!room)
        return;
    if (size)
        memcpy(room, data, size);
    buffer_claim(b, size);
}

void
buffer_add(struct buffer *b, const void *data, size_t size)
{
    append_buffer_bytes(b, data, size);
}

void
buffer_text(struct buffer *b, const char *text)
{
    buffer_add(b, text, strlen(text));
}

void
buffer_sentence(struct buffer *b, const char *text)
{
    if (b->size > 0)
        buffer_text(b, "; ");
    buffer_text(b, text);
}

void
buffer_char(struct buffer *b, char c)
{
    buffer_add(b, &c, 1);
}

/* Most texts are short: they are formatted once, on the stack, and copied. Only
 * a longer one is formatted twice, the second time in place. */
void
buffer_format(struct buffer *b, const char *format, ...)
{
    char small[256], *room;
    int size;
    va_list args;

    va_start(args, format);
    size = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (size < 0) {
        b->failed = true;
        return;
    }
    if ((size_t)size < sizeof(small)) {
        buffer_add(b, small, (size_t)size);
        return;
    }
    room = buffer_reserve(b, (size_t)size);
    if (!room)
        return;
    va_start(args, format);
    vsnprintf(room, (size_t)size + 1, format, args);
    va_end(args);
    buffer_claim(b, (size_t)size);
}

static inline void
append_little_endian(struct buffer *b, uint64_t v, size_t n)
{
    uint64_t bytes = htole64(v);

    append_buffer_bytes(b, &bytes, n);
}

void
buffer_u8(struct buffer *b, uint8_t v)
{
    append_little_endian(b, v, 1);
}

void
buffer_u16(struct buffer *b, uint16_t v)
{
    append_little_endian(b, v, 2);
}

void
buffer_u24(struct buffer *b, uint32_t v)
{
    append_little_endian(b, v, 3);
}

void
buffer_u32(struct buffer *b, uint32_t v)
{
    append_little_endian(b, v, 4);
}

void
buffer_u64(struct buffer *b, uint64_t v)
{
    append_little_endian(b, v, 8);
}

void
buffer_double(struct buffer *b, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    buffer_u64(b, bits);
}

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
void
buffer_leb(struct buffer *b, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        buffer_u8(b, (uint8_t)(v | 0x80));
    buffer_u8(b, (uint8_t)v);
}

/* MySQL's "Protocol::LengthEncodedInteger": one byte below 0xfb, which is NULL
 * in a row; 0xff would be an error packet. */
void
buffer_lenenc(struct buffer *b, uint64_t v)
{
    if (v < 0xfb) {
        buffer_u8(b, (uint8_t)v);
    } else if (v <= 0xffff) {
        buffer_u8(b, 0xfc);
        buffer_u16(b, (uint16_t)v);
    } else if (v <= 0xffffff) {
        buffer_u8(b, 0xfd);
        buffer_u24(b, (uint32_t)v);
    } else {
        buffer_u8(b, 0xfe);
        buffer_u64(b, v);
    }
}

void
buffer_lenenc_bytes(struct buffer *b, const void *data, size_t size)
{
    buffer_lenenc(b, size);
    buffer_add(b, data, size);
}
