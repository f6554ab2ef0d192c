/*
 * dwarf.h - finds the functions (inlined ones, too) and lines of addresses in
 * DWARF.  It reads only the units concerned, each once, several at a time.
 *
 * For an unknown address it gives the reason, so that libbfd may be asked
 * instead.  Names are as in the file: mangled.
 */
#ifndef HW_DWARF_H
#define HW_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr2line_names.h"
#include "dwarf_units.h"

struct dwarf;
struct elf_file;
struct error;

struct dwarf_options {
    size_t memory_bytes; /* ceiling; 0: the default, 256 MiB */
    unsigned threads;    /* 0: one per core, at most 16 */
    bool lines;          /* read the line tables too */
    /* Only dwarf_resolve will be called: then no more of packed sections is
     * inflated than it needs, and it reports the errors that dwarf_new
     * would. */
    bool addresses_only;
};

/* elf must have loaded its sections, among them .debug_info. */
struct dwarf *dwarf_new(const struct elf_file *elf,
                        const struct dwarf_options *options, struct error *err);
void dwarf_free(struct dwarf *dwarf); /* NULL is fine; frees all texts */

/* Resolves ascending, distinct addresses; 0 even if some stay unknown. */
int dwarf_resolve(struct dwarf *dwarf, const uint64_t *addresses,
                  uint32_t count, struct error *err);

/* The answer for the i-th address of the last dwarf_resolve: DWARF_KNOWN, or
 * why it is unknown.  Texts last as long as dwarf. */
enum dwarf_why dwarf_chain_at(const struct dwarf *dwarf, uint32_t i,
                              struct code_chain *chain);

/* For the index, which needs everything; not with addresses_only. */
struct dwarf_sections *dwarf_get_sections(struct dwarf *dwarf);
struct dwarf_units *dwarf_get_units(struct dwarf *dwarf);

#endif
