/*
 * dwarf.h - from addresses to the functions, inlined ones included, and lines
 * that DWARF has for them: only the units that they touch are read, each once,
 * several at a time.
 *
 * What it does not know it says, address by address, so that libbfd may be
 * asked instead.  Names are as the file has them: mangled.
 */
#ifndef HW_DWARF_H
#define HW_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code_chain.h"
#include "dwarf_units.h"

struct dwarf;
struct elf_file;
struct error;

struct dwarf_options {
    size_t memory_bytes; /* ceiling; 0: the default, 256 MiB */
    unsigned threads;    /* 0: as many as there are cores, at most 16 */
    bool lines;          /* read the line tables, too */
    /* Nothing but dwarf_resolve will be called: of packed sections only what
     * it needs is inflated, and it says what dwarf_new would say of them. */
    bool addresses_only;
};

/* Of a file with loaded sections and .debug_info in it. */
struct dwarf *dwarf_new(const struct elf_file *elf,
                        const struct dwarf_options *options, struct error *err);
void dwarf_free(struct dwarf *dwarf); /* NULL is fine; takes all texts along */

/* Resolves ascending, distinct addresses; 0 even if some are not known. */
int dwarf_resolve(struct dwarf *dwarf, const uint64_t *addresses,
                  uint32_t count, struct error *err);

/* Of the last dwarf_resolve's i-th address: DWARF_KNOWN, or why nothing is
 * said of it.  Texts last as dwarf does. */
enum dwarf_why dwarf_chain_at(const struct dwarf *dwarf, uint32_t i,
                              struct code_chain *chain);

/* For the index, which wants everything; not with addresses_only. */
struct dwarf_sections *dwarf_get_sections(struct dwarf *dwarf);
struct dwarf_units *dwarf_get_units(struct dwarf *dwarf);

struct dwarf_figures {
    size_t units, touched, why[DWARF_WHY_COUNT]; /* addresses, by reason */
    uint64_t info_bytes;                         /* read of .debug_info */
    size_t peak_bytes;                           /* of memory_bytes */
};

struct dwarf_figures dwarf_figures_of(const struct dwarf *dwarf);

#endif
