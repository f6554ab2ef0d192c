/* gzip.h - compresses bytes into a gzip file. */
#ifndef HW_GZIP_H
#define HW_GZIP_H

#include <stddef.h>

struct buffer;

/* Appends; out fails past its ceiling or without memory. */
void gzip_add(struct buffer *out, const void *data, size_t size);

#endif
