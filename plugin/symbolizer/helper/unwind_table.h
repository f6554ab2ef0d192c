/*
 * unwind_table.h - the starts and ends of functions without a symbol.
 *
 * Read from .eh_frame, which survives stripping because exceptions need it:
 * through .eh_frame_hdr's sorted table, or by walking all of .eh_frame if there
 * is none (LSB core, "Exception Frames").
 */
#ifndef HW_UNWIND_TABLE_H
#define HW_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct error;
struct unwind_table;

/* The file has loaded sections.  Without .eh_frame, or with a damaged one, the
 * table is empty; NULL only without memory. */
struct unwind_table *unwind_table_new(const struct elf_file *elf,
                                      struct error *err);
void unwind_table_free(struct unwind_table *table); /* NULL is fine */

/* The function around address: [*start, *end). */
bool unwind_table_find(const struct unwind_table *table, uint64_t address,
                       uint64_t *start, uint64_t *end);

/* The start of the first function behind address; UINT64_MAX: none. */
uint64_t unwind_table_next(const struct unwind_table *table, uint64_t address);

#endif
