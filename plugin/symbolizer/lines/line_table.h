/*
 * line_table.h - which source line an address comes from (DWARF 2 to 5, "Line
 * Number Information").
 *
 * The rows of one unit's line program, sorted and compact.  What the program
 * says of is_stmt, columns and discriminators is left out: addr2line does not
 * print it.
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

/*
 * What is wrong or too much ends the table there, with what came before kept;
 * NULL with *err without memory or when not even the header makes sense.
 * Where sequences overlap, binutils' choice wins.
 */
struct line_table *line_table_new(struct dwarf_sections *sections,
                                  const struct line_origin *origin,
                                  struct error *err);
void line_table_free(struct line_table *table); /* NULL is fine */

/* The row that holds address, or NULL. */
const struct line_row *line_table_find(const struct line_table *table,
                                       uint64_t address);

/* All rows, ascending; equal neighbours are one. */
const struct line_row *line_table_rows(const struct line_table *table,
                                       size_t *count);

/*
 * Writes the path of a file as addr2line prints it, also for a number as
 * DW_AT_call_file has it, and returns its length; "" when there is none.
 */
size_t line_table_file(const struct line_table *table, uint32_t file,
                       char path[LINE_PATH_MAX]);
size_t line_table_file_count(const struct line_table *table);

#endif
