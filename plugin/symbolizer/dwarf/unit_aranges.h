/*
 * unit_aranges.h - .debug_aranges: the addresses of all units in one place.
 * gcc writes it and clang does not, so a program of both has a part of it.
 */
#ifndef HW_UNIT_ARANGES_H
#define HW_UNIT_ARANGES_H

#include <stddef.h>
#include <stdint.h>

struct dwarf_sections;

/* Calls put with each range and its unit's offset in .debug_info; put's -1 ends
 * it.  Skips invalid entries. */
int unit_aranges_read(struct dwarf_sections *sections,
                      int (*put)(void *arg, uint64_t unit_offset,
                                 uint64_t start, uint64_t end),
                      void *arg);

/* For each of these ascending addresses, the first unit that has it; returns
 * the greatest of their offsets in .debug_info; UINT64_MAX: an address is not
 * listed, or no memory. */
uint64_t unit_aranges_reach(struct dwarf_sections *sections,
                            const uint64_t *addresses, size_t count);

#endif
