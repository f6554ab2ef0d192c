/*
 * table_writer.h - collects the rows of an unwind table (unwind_table.h), in
 * the order of their offsets, and writes its bytes.
 */
#ifndef HW_TABLE_WRITER_H
#define HW_TABLE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "unwind_table.h"

struct buffer;

struct table_writer {
    struct table_row {
        uint32_t offset;
        uint16_t rule;
    } * rows;
    size_t row_count, row_capacity;
    struct unwind_rule *rules; /* distinct */
    size_t rule_count;
    struct hash_index rule_index;
    uint64_t dropped; /* rows that lost their rule: there were too many
                       * distinct ones */
};

/* These return -1 without memory, as table_writer_add and _write do. */
int table_writer_init(struct table_writer *w);
void table_writer_fini(struct table_writer *w); /* a zeroed struct is fine */

/* The code from offset on, up to the next row, has the rule.  Offsets ascend;
 * those of 4 GiB and more are ignored. */
int table_writer_add(struct table_writer *w, uint64_t offset,
                     const struct unwind_rule *rule);

/* Appends the table. */
int table_writer_write(const struct table_writer *w, uint16_t machine,
                       const void *build_id, size_t build_id_size,
                       struct buffer *out);

#endif
