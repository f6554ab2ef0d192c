/* inflate_stream.c - see inflate_stream.h. */
#include "inflate_stream.h"

#include <limits.h>
#include <string.h>

#include <zlib.h>

#include "elf_file.h"
#include "memory.h"

enum { PACKED = 1 << 16 /* bytes read at once */ };

struct inflate_stream {
    struct inflate_from from; /* the unread part */
    z_stream z;
    bool failed;
    uint8_t packed[PACKED];
};

static void *
z_alloc(void *arg, unsigned count, unsigned size)
{
    (void)arg;
    return mem_zalloc(count, size);
}

static void
z_free(void *arg, void *block)
{
    (void)arg;
    mem_free(block);
}

struct inflate_stream *
inflate_stream_new(const struct inflate_from *from)
{
    struct inflate_stream *stream = mem_alloc(sizeof(*stream));

    if (!stream)
        return NULL;
    stream->from = *from;
    stream->failed = false;
    memset(&stream->z, 0, sizeof(stream->z));
    stream->z.zalloc = z_alloc;
    stream->z.zfree = z_free;
    if (inflateInit(&stream->z) != Z_OK) {
        mem_free(stream);
        return NULL;
    }
    return stream;
}

void
inflate_stream_free(struct inflate_stream *stream)
{
    if (!stream)
        return;
    (void)inflateEnd(&stream->z);
    mem_free(stream);
}

static int
read_packed(struct inflate_stream *stream)
{
    struct inflate_from *from = &stream->from;
    size_t size = from->size < PACKED ? from->size : PACKED;

    if (size == 0 ||
        elf_read_at(from->elf, from->offset, size, stream->packed) != 0)
        return -1;
    from->offset += size;
    from->size -= size;
    stream->z.next_in = stream->packed;
    stream->z.avail_in = (unsigned)size;
    return 0;
}

/* Inflates a part of what is left. */
static int
step(struct inflate_stream *stream)
{
    int rc;

    if (stream->z.avail_in == 0 && read_packed(stream) != 0)
        return -1;
    rc = inflate(&stream->z, Z_NO_FLUSH);
    /* Linkers put several streams one after another. */
    if (rc == Z_STREAM_END)
        rc = inflateReset(&stream->z);
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : -1;
}

int
inflate_stream_next(struct inflate_stream *stream, void *place, size_t size)
{
    if (size > UINT_MAX)
        stream->failed = true;
    stream->z.next_out = place;
    stream->z.avail_out = (unsigned)size;
    while (!stream->failed && stream->z.avail_out > 0)
        stream->failed = step(stream) != 0;
    return stream->failed ? -1 : 0;
}
