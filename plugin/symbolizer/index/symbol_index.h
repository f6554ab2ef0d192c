/*
 * symbol_index.h - all that DWARF and symbols say of one object's code, in a
 * file that is searched in a microsecond or two an address.
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
    uint64_t start;   /* of it, or of a function without any; 0 unknown */
    uint64_t end;     /* up to where the answer for this address holds */
    struct span name; /* readable, without version; "" : there is none */
    uint32_t number;  /* its number, as a frame's name has */
};

/* ---- writing ---- */

/* The functions are called by several threads, but never by two at a time. */
struct symbol_index_source {
    const struct elf_file *elf; /* its build-id is the key: it must have one */
    struct dwarf *dwarf; /* NULL: there is none; symbols are all there is */
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

/* Memory is dwarf's, if there is any: where it does not do, units are left out
 * or, when it is the index itself that has no room, nothing is written and *err
 * says so. */
int symbol_index_write(const struct symbol_index_source *source,
                       struct symbol_index_figures *figures, struct error *err);

/* ---- reading ---- */

/* Of the file behind fd, which stays the caller's and open.  NULL with *err
 * when it is damaged, of another version, or not that build-id's. */
struct symbol_index *symbol_index_open(int fd, const uint8_t *build_id,
                                       size_t build_id_size, struct error *err);
void symbol_index_close(struct symbol_index *index); /* NULL is fine */

/* Whether it was made without DWARF: of no use where there is some. */
bool symbol_index_symbols_only(const struct symbol_index *index);

/* What a text is used for. */
enum symbol_index_use { INDEX_USE_FUNCTION, INDEX_USE_SYMBOL, INDEX_USE_FILE };

/* A question to it, of many addresses at once. */
struct symbol_index_question {
    const uint64_t *addresses; /* best in ascending order */
    uint32_t count;
    bool no_lines;      /* frames may be without files and lines */
    bool symbols_apart; /* their names are told as such, besides functions' */
    /* Called for each text that the answers may have, once for each use of it,
     * before them, with a NUL behind it.  Who numbers it keeps it: the answers
     * have "#" and the number in its place.  Not 0 ends the look-up.  NULL:
     * nobody cares. */
    int (*text)(void *arg, struct span text, enum symbol_index_use use,
                uint32_t *number);
    bool (*stop)(void *arg); /* true ends it as text does; NULL: nobody */
    void *arg;
};

/* Finds what there is to say; -1 without memory, or what text said.  Texts and
 * answers last until the next question, or symbol_index_close. */
int symbol_index_look_up(struct symbol_index *index,
                         const struct symbol_index_question *question);

enum symbol_index_answer {
    INDEX_KNOWN,
    INDEX_UNKNOWN, /* left out of the index: DWARF is to be asked */
    INDEX_DAMAGED  /* a block is: others may be whole */
};

/* The i-th address's answer.  Frames last until the next one; they are as
 * dwarf_chain_at gives them, names readable.  None but of a known one. */
enum symbol_index_answer symbol_index_answer(struct symbol_index *index,
                                             uint32_t i,
                                             struct code_chain *chain,
                                             struct index_symbol *symbol);

#endif
