/*
 * symbol_index.h - the names and lines of one object's code, from DWARF and
 * symbols, in a file that answers an address in a microsecond or two.
 *
 * The key is the build-id.  A file is made once, by a background job or for a
 * package, and read with pread, block by block.  Each block is checked before
 * it is used, so a damaged or hostile file can make its answers wrong, and
 * nothing else.  symbol_index_format.h describes the file byte by byte.
 */
#ifndef HW_SYMBOL_INDEX_H
#define HW_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr2line_names.h"
#include "names.h"

struct dwarf;
struct elf_file;
struct error;
struct symbol_index;

/* The symbol that contains an address. */
struct index_symbol {
    uint64_t start;   /* its start, or the start of a function without one; 0:
                         unknown */
    uint64_t end;     /* the answer for this address holds up to here */
    struct span name; /* readable, without version; "": none */
    uint32_t number;  /* its number, like a frame's name_number */
};

/* ---- writing ---- */

/* Several threads call these functions, but never two at a time. */
struct symbol_index_source {
    const struct elf_file *elf; /* must have a build-id, which is the key */
    struct dwarf *dwarf;        /* NULL: none; the index gets symbols only */
    /* The symbol for an address inside the function with the outermost name
     * outermost, as in the file ("": outside all functions). */
    void (*symbol)(void *arg, uint64_t address, struct span outermost,
                   struct index_symbol *out);
    /* A linkage name demangled, valid until the next call; NULL: use it as is.
     */
    const char *(*readable)(void *arg, struct span linkage_name);
    /* Takes the file's bytes in their order; -1 with *err ends the writing. */
    int (*write)(void *arg, const void *data, size_t size, struct error *err);
    void *arg;
};

/* Memory counts against dwarf's budget, if there is one.  If it runs out, units
 * are left out; if the index itself has no room, nothing is written and *err
 * says so. */
int symbol_index_write(const struct symbol_index_source *source,
                       struct error *err);

/* ---- reading ---- */

/* Opens the file behind fd, which the caller closes later.  NULL with *err:
 * damaged, of another version, or of another build-id. */
struct symbol_index *symbol_index_open(int fd, const uint8_t *build_id,
                                       size_t build_id_size, struct error *err);
void symbol_index_close(struct symbol_index *index); /* NULL is fine */

/* Whether it was made without DWARF: if there is DWARF, that knows more. */
bool symbol_index_symbols_only(const struct symbol_index *index);

/* The use of a text. */
enum symbol_index_use { INDEX_USE_FUNCTION, INDEX_USE_SYMBOL, INDEX_USE_FILE };

/* A question about many addresses at once. */
struct symbol_index_question {
    const uint64_t *addresses; /* best in ascending order */
    uint32_t count;
    bool no_lines;     /* frames may be without files and lines */
    bool with_symbols; /* asks for symbols' names besides functions' */
    /* Called in advance for each text that the answers may contain, once per
     * use, terminated by a NUL.  If it sets *number, it keeps the text, and
     * answers contain "#" and the number instead.  Not 0 ends the look-up.
     * NULL: no call. */
    int (*text)(void *arg, struct span text, enum symbol_index_use use,
                uint32_t *number);
    bool (*stop)(
        void *arg); /* returns true to end the look-up, as text does; or NULL */
    void *arg;
};

/* Looks up the addresses; -1 without memory, or text's result.  Texts and
 * answers last until the next look-up, or symbol_index_close. */
int symbol_index_look_up(struct symbol_index *index,
                         const struct symbol_index_question *question);

enum symbol_index_answer {
    INDEX_KNOWN,
    INDEX_UNKNOWN, /* left out of the index: ask DWARF */
    INDEX_DAMAGED  /* a block is damaged; others may be whole */
};

/* The answer for the i-th address.  Frames last until the next one; they are as
 * from dwarf_chain_at, with readable names.  Only INDEX_KNOWN has any. */
enum symbol_index_answer symbol_index_answer(struct symbol_index *index,
                                             uint32_t i,
                                             struct code_chain *chain,
                                             struct index_symbol *symbol);

#endif
