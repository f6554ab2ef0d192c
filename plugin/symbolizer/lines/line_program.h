/*
 * line_program.h - runs a unit's line program, whose sorted rows become the
 * table.  For line_table.c alone.
 */
#ifndef HW_LINE_PROGRAM_H
#define HW_LINE_PROGRAM_H

#include <stddef.h>

#include "line_header.h"
#include "line_table.h"

struct error;

struct line_table {
    struct line_header header;
    struct line_row *rows;
    size_t count, capacity;
};

/* The header must have been read.  -1 with *err: no memory. */
int line_program_run(struct line_table *table, struct error *err);

#endif
