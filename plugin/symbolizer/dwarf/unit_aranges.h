/*
 * unit_aranges.h - .debug_aranges: which unit has which addresses, said in one
 * place.  gcc writes it, clang does not; a program of both has some of it.
 */
#ifndef HW_UNIT_ARANGES_H
#define HW_UNIT_ARANGES_H

#include <stddef.h>
#include <stdint.h>

struct dwarf_sections;

/* Calls put with each range and the .debug_info offset of its unit; put's -1
 * ends it.  What makes no sense is left out. */
int unit_aranges_read(struct dwarf_sections *sections,
                      int (*put)(void *arg, uint64_t unit_offset,
                                 uint64_t start, uint64_t end),
                      void *arg);

/* The greatest of the .debug_info offsets of the first units that have these
 * ascending addresses; UINT64_MAX: not all are there, or no memory. */
uint64_t unit_aranges_reach(struct dwarf_sections *sections,
                            const uint64_t *addresses, size_t count);

#endif
