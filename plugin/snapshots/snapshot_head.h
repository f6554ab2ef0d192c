/*
 * snapshot_head.h - the head of a snapshot file: what listing needs.
 *
 * Its layout stands in snapshot_file.c.
 */
#ifndef HW_SNAPSHOT_HEAD_H
#define HW_SNAPSHOT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

struct buffer;
struct error;
struct snapshot;

/* The body's size and checksum. */
struct snapshot_body {
    uint64_t packed, size; /* bytes in the file, and unpacked */
    uint32_t checksum;     /* CRC-32 of the packed bytes */
    bool wrapped;          /* some location has frames of wrappers */
};

struct snapshot_head {
    struct store_entry entry; /* without pinned and on_disk */
    struct snapshot_body body;
    size_t size; /* bytes of the head; the body follows */
};

/* Fills the entry that a list shows of snapshot. */
void snapshot_describe(const struct snapshot *snapshot,
                       struct store_entry *out);

void snapshot_head_encode(const struct snapshot *snapshot,
                          const struct snapshot_body *body, struct buffer *out);
int snapshot_head_decode(const void *bytes, size_t size,
                         struct snapshot_head *out, struct error *err);

#endif
