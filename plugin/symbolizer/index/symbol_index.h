/*
 * symbol_index.h - all that DWARF and symbols say of one object's code, in a
 * file that is searched in microseconds an address.
 *
 * Keyed by build-id; made once, by a background job or at packaging time, and
 * read with pread, block by block: each block is checked before it is used, so
 * that a damaged or hostile file costs its answers, never more.  The file, byte
 * by byte: symbol_index_format.h.
 */
#ifndef HW_SYMBOL_INDEX_H
#define HW_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code_chain.h"
#include "names.h"

struct dwarf;
struct elf_file;
struct error;
struct symbol_index;

/* The symbol that holds an address. */
struct index_symbol {
    uint64_t start;   /* of the symbol */
    uint64_t end;     /* up to where the answer for this address holds */
    struct span name; /* readable, without version; "" : there is none */
};

/* ---- writing ---- */

/* The functions are called by several threads, but never by two at a time. */
struct symbol_index_source {
    const struct elf_file *elf; /* its build-id is the key: it must have one */
    struct dwarf *dwarf;
    /* The symbol to be told for an address inside the function whose outermost
     * name, as in the file, is outermost ("" outside of all). */
    void (*symbol)(void *arg, uint64_t address, struct span outermost,
                   struct index_symbol *out);
    /* A linkage name demangled, borrowed until the next call; NULL: as it is.
     */
    const char *(*readable)(void *arg, struct span linkage_name);
    /* Takes the file's bytes in their order; -1 with *err ends the writing. */
    int (*write)(void *arg, const void *data, size_t size, struct error *err);
    void *arg;
};

struct symbol_index_figures {
    uint64_t bytes, functions, inlined, ranges, rows, symbols;
    uint64_t left_out; /* units that DWARF's reader did not know */
};

/* Memory is dwarf's: where it does not do, units are left out or, when it is
 * the index itself that has no room, nothing is written and *err says so. */
int symbol_index_write(const struct symbol_index_source *source,
                       struct symbol_index_figures *figures, struct error *err);

/* ---- reading ---- */

/* Of the file behind fd, which stays the caller's and open.  NULL with *err
 * when it is damaged, of another version, or not that build-id's. */
struct symbol_index *symbol_index_open(int fd, const uint8_t *build_id,
                                       size_t build_id_size, struct error *err);
void symbol_index_close(struct symbol_index *index); /* NULL is fine */

/*
 * What is known of address; texts last until symbol_index_close, frames until
 * the next question.  They are as dwarf_chain_at gives them, names readable.
 * False: this address was left out of the index, so that DWARF is to be asked,
 * or, with *failed -1 and not 0, a block is damaged or there is no memory:
 * other addresses may still be asked.
 */
bool symbol_index_ask(struct symbol_index *index, uint64_t address,
                      struct code_chain *chain, struct index_symbol *symbol,
                      int *failed);

#endif
