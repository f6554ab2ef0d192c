/*
 * unwind_table.h - where functions without a symbol start and end.
 *
 * Read from .eh_frame, which survives stripping because exceptions need it:
 * found through .eh_frame_hdr's sorted table, or by walking all of .eh_frame
 * when there is none (LSB core, "Exception Frames").
 */
#ifndef HW_UNWIND_TABLE_H
#define HW_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct error;
struct unwind_table;

/* Of a file with loaded sections.  No or a damaged .eh_frame gives an empty
 * table; NULL only without memory. */
struct unwind_table *unwind_table_new(const struct elf_file *elf,
                                      struct error *err);
void unwind_table_free(struct unwind_table *table); /* NULL is fine */

/* The function around address: [*start, *end). */
bool unwind_table_find(const struct unwind_table *table, uint64_t address,
                       uint64_t *start, uint64_t *end);

/* Where the first function behind address starts; UINT64_MAX. */
uint64_t unwind_table_next(const struct unwind_table *table, uint64_t address);

#endif
