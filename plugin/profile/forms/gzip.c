/* gzip.c - see gzip.h. */
#include "gzip.h"

#include <limits.h>
#include <string.h>

#include "buffer.h"
#include "zlib_memory.h"

enum { GZIP_LEVEL = 6, GZIP_WINDOW = 15 + 16 /* with gzip's frame */ };

void
gzip_add(struct buffer *out, const void *data, size_t size)
{
    static const size_t piece = 1 << 16;
    z_stream stream = {.zalloc = zlib_alloc, .zfree = zlib_free};
    const unsigned char *at = data;
    int rc = Z_OK;

    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        out->failed = true;
        return;
    }
    while (rc != Z_STREAM_END) {
        uInt before;

        if (stream.avail_in == 0 && size > 0) {
            stream.next_in = (z_const Bytef *)at;
            stream.avail_in = size > UINT_MAX ? UINT_MAX : (uInt)size;
            at += stream.avail_in;
            size -= stream.avail_in;
        }
        stream.next_out = (Bytef *)buffer_reserve(out, piece);
        if (!stream.next_out)
            break;
        stream.avail_out = before = (uInt)piece;
        rc = deflate(&stream, size > 0 ? Z_NO_FLUSH : Z_FINISH);
        buffer_claim(out, before - stream.avail_out);
    }
    deflateEnd(&stream);
}
