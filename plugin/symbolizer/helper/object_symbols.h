/*
 * object_symbols.h - the symbol of an address in one object, or else its
 * function's start.
 *
 * The symbols' sizes distinguish a name from the nearest one; .eh_frame has the
 * starts of functions without a symbol.
 */
#ifndef HW_OBJECT_SYMBOLS_H
#define HW_OBJECT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct elf_file;
struct error;
struct object_symbols;
struct symbol;
struct symbol_table;

/* Both files must have loaded their sections; debug is the split debug file or
 * NULL.  object must stay open.  NULL only without memory. */
struct object_symbols *object_symbols_new(const struct elf_file *object,
                                          const struct elf_file *debug,
                                          struct error *err);
void object_symbols_free(struct object_symbols *symbols); /* NULL is fine */

/* Whether the file has a symbol table, not only dynamic symbols. */
bool object_has_symbols(const struct elf_file *elf);

/* Whether there is any symbol. */
bool object_symbols_any(const struct object_symbols *symbols);

/* The symbol that contains address, or NULL.  Of its aliases malloc and the
 * like come first, then the one with the given name. */
const struct symbol *object_symbols_at(const struct object_symbols *symbols,
                                       uint64_t address, struct span name);

/* Whether name is that of a symbol before address that does not reach it:
 * libbfd answers so if it knows no function. */
bool object_symbols_guessed(const struct object_symbols *symbols,
                            uint64_t address, struct span name);

/* Whether the start of the function at address is known. */
bool object_symbols_function(const struct object_symbols *symbols,
                             uint64_t address, uint64_t *start);
/* The same as a value: the start, or address itself if it is unknown. */
uint64_t object_symbols_start(const struct object_symbols *symbols,
                              uint64_t address);

/* An end up to which, from address on, object_symbols_at gives the same. */
uint64_t object_symbols_end(const struct object_symbols *symbols,
                            uint64_t address);

/*
 * The symbol table: code symbols with their sizes.
 *
 * libbfd names an address outside every symbol after the nearest one before it;
 * this table knows each symbol's extent, and so tells a name from a guess.
 */
struct symbol {
    uint64_t start, size; /* size 0: assembly without a size */
    const char *name;     /* as in the file: mangled, maybe with a version */
    bool function, typed;
    bool allocates; /* malloc or the like */
    uint32_t order; /* index in the file's table */
};

/* Reads .symtab (or .dynsym) of a file with loaded sections.  A file without
 * any gives an empty table; NULL only without memory. */
struct symbol_table *symbol_table_new(const struct elf_file *elf, bool dynamic,
                                      struct error *err);
void symbol_table_free(struct symbol_table *table); /* NULL is fine */

/* The sized symbol that contains address.  Of aliases prefers an allocation
 * function (malloc, operator new), else binutils' choice. */
const struct symbol *symbol_table_holding(const struct symbol_table *table,
                                          uint64_t address);

/* The last symbol starting at or before address; the best of its aliases. */
const struct symbol *symbol_table_before(const struct symbol_table *table,
                                         uint64_t address);

/* Among the aliases of symbol, the widest with that name, or NULL. */
const struct symbol *symbol_table_alias(const struct symbol_table *table,
                                        const struct symbol *symbol,
                                        struct span name);

/* The start of the first symbol behind address; UINT64_MAX: none. */
uint64_t symbol_table_next(const struct symbol_table *table, uint64_t address);

#endif
