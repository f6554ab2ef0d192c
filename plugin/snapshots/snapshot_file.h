/*
 * snapshot_file.h - a snapshot as bytes: what the store writes, and what is
 * exported and imported.
 *
 * Self-contained: samples, frames with names, modules with build-ids, node,
 * times, rate, jemalloc's version.  The layout stands in snapshot_file.c.
 * Decoding trusts nothing: every count and offset is checked, checksums first.
 */
#ifndef HW_SNAPSHOT_FILE_H
#define HW_SNAPSHOT_FILE_H

#include <stddef.h>

struct buffer;
struct error;
struct snapshot;
struct store_entry;

#define SNAPSHOT_FILE_MAGIC "HWSNAP\r\n" /* its first bytes */
enum { SNAPSHOT_FILE_MAX = 256 << 20, SNAPSHOT_FILE_HEAD_MAX = 16384 };

int snapshot_encode(const struct snapshot *snapshot, struct buffer *out,
                    struct error *err);
/* The same for another node, with marks at frames that this node counts among
 * the allocator's (allocator.h). */
int snapshot_export(const struct snapshot *snapshot, const char *wrappers,
                    struct buffer *out, struct error *err);
/* One reference, or NULL with *err. */
struct snapshot *snapshot_decode(const void *bytes, size_t size,
                                 struct error *err);
/* The same for a file from outside: removes from its texts what harms terminals
 * and logs. */
struct snapshot *snapshot_decode_foreign(const void *bytes, size_t size,
                                         struct error *err);
/* Decodes the head alone; the first SNAPSHOT_FILE_HEAD_MAX bytes suffice. */
int snapshot_decode_head(const void *bytes, size_t size,
                         struct store_entry *out, struct error *err);
/* Decodes such a file, or a raw jemalloc profile (heap_v2), whose addresses are
 * named by module and offset alone.  The snapshot has no name yet. */
struct snapshot *snapshot_import(const void *bytes, size_t size,
                                 struct error *err);

#endif
