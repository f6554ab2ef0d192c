/*
 * line_header.h - the head of a line program (DWARF 2 to 5, "The Line Number
 * Program Header"): how to read its opcodes, and its files.
 *
 * File names are read only when a path is wanted.
 */
#ifndef HW_LINE_HEADER_H
#define HW_LINE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "line_table.h"

/* A name in the unit itself or in a section of texts. */
struct line_name {
    uint64_t offset;
    uint32_t directory;
    uint8_t where; /* enum line_where */
};

struct line_names {
    struct line_name *list;
    size_t count, capacity;
};

struct line_header {
    struct dwarf_sections *sections;
    struct span comp_dir;
    uint64_t str_offsets_base;
    char *unit; /* the unit's bytes; after line_header_settle only those with
                 * names */
    size_t unit_size, charged; /* charged: bytes taken of the budget */
    struct line_names directories, files;
    size_t program; /* start of the opcodes in unit */
    uint32_t min_length, max_ops;
    int32_t line_base;
    uint32_t line_range, opcode_base;
    uint8_t version, offset_size;
    uint8_t lengths[256]; /* of the standard opcodes */
};

/* h must be zeroed.  A unit that its section cuts off is read as far as it
 * goes. */
int line_header_read(struct line_header *h, struct dwarf_sections *sections,
                     const struct line_origin *origin, struct error *err);
void line_header_fini(struct line_header *h); /* a zeroed struct is fine */

/* Reads DW_LNE_define_file's operand. */
bool line_header_define(struct line_header *h, struct reader *r);

/* Keeps only what paths need, after the opcodes were read. */
void line_header_settle(struct line_header *h);

/* See line_table_file. */
size_t line_header_path(const struct line_header *h, uint32_t file,
                        char path[LINE_PATH_MAX]);

#endif
