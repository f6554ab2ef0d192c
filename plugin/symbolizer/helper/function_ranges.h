/*
 * function_ranges.h - the starts and ends of functions without a symbol.
 *
 * Read from .eh_frame, which survives stripping because exceptions need it:
 * through .eh_frame_hdr's sorted table, or, without one, by walking all of
 * .eh_frame (LSB core, "Exception Frames").
 */
#ifndef HW_FUNCTION_RANGES_H
#define HW_FUNCTION_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct error;
struct function_ranges;

/* The file must have loaded its sections.  Without .eh_frame, or with a damaged
 * one, the table is empty; NULL only without memory. */
struct function_ranges *function_ranges_new(const struct elf_file *elf,
                                            struct error *err);
void function_ranges_free(struct function_ranges *table); /* NULL is fine */

/* The function around address: [*start, *end). */
bool function_ranges_find(const struct function_ranges *table, uint64_t address,
                          uint64_t *start, uint64_t *end);

/* The start of the first function behind address; UINT64_MAX: none. */
uint64_t function_ranges_next(const struct function_ranges *table,
                              uint64_t address);

#endif
