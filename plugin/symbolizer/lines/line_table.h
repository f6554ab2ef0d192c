/*
 * line_table.h - the source lines of addresses (DWARF 2 to 5, "Line Number
 * Information").
 *
 * Has the rows of one unit's line program, sorted and compact, without is_stmt,
 * columns and discriminators, which addr2line does not print.
 */
#ifndef HW_LINE_TABLE_H
#define HW_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct dwarf_sections;
struct error;
struct line_table;

enum {
    LINE_FILES_MAX = 1 << 20,
    LINE_ROWS_MAX = 1 << 26,
    LINE_PATH_MAX = 4096
};

struct line_row {
    uint64_t address;
    uint32_t file; /* for line_table_file; LINE_END: nothing from here on */
    uint32_t line;
};

static const uint32_t LINE_END = UINT32_MAX;

struct line_origin {
    uint64_t offset;       /* in .debug_line: DW_AT_stmt_list */
    struct span directory; /* DW_AT_comp_dir; "" unknown */
    uint64_t str_offsets_base;
};

/* Runs the program at origin.  An invalid or too long one ends the table there;
 * rows before it are kept.  NULL with *err: no memory, or the header is
 * invalid.  Of overlapping sequences the same one wins as in binutils. */
struct line_table *line_table_new(struct dwarf_sections *sections,
                                  const struct line_origin *origin,
                                  struct error *err);
void line_table_free(struct line_table *table); /* NULL is fine */

/* The row that holds address, or NULL. */
const struct line_row *line_table_find(const struct line_table *table,
                                       uint64_t address);

/* All rows, ascending; equal neighbours are one row. */
const struct line_row *line_table_rows(const struct line_table *table,
                                       size_t *count);

/* Writes the path of a file as addr2line prints it, and returns its length; 0:
 * there is none.  file may also be a DW_AT_call_file. */
size_t line_table_file(const struct line_table *table, uint32_t file,
                       char path[LINE_PATH_MAX]);
size_t line_table_file_count(const struct line_table *table);

#endif
