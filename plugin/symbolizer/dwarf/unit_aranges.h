/*
 * unit_aranges.h - .debug_aranges: which unit has which addresses, said in one
 * place.  gcc writes it, clang does not; a program of both has some of it.
 */
#ifndef HW_UNIT_ARANGES_H
#define HW_UNIT_ARANGES_H

#include <stdint.h>

struct dwarf_sections;

/* Calls put with each range and the .debug_info offset of its unit; put's -1
 * ends it.  What makes no sense is left out. */
int unit_aranges_read(struct dwarf_sections *sections,
                      int (*put)(void *arg, uint64_t unit_offset,
                                 uint64_t start, uint64_t end),
                      void *arg);

#endif
