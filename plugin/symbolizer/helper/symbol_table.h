/*
 * symbol_table.h - code symbols with their sizes.
 *
 * libbfd names an address outside every symbol after the nearest one before it;
 * this table knows each symbol's extent, and so tells a name from a guess.
 */
#ifndef HW_SYMBOL_TABLE_H
#define HW_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct elf_file;
struct error;
struct symbol_table;

struct symbol {
    uint64_t start, size; /* size 0: assembly without a size */
    const char *name;     /* as in the file: mangled, maybe with a version */
    bool function, typed;
    bool allocates; /* malloc or the like */
    uint32_t order; /* in the file's table */
};

/* Reads .symtab (or .dynsym) of a file with loaded sections.  A file without
 * any gives an empty table; NULL only without memory. */
struct symbol_table *symbol_table_new(const struct elf_file *elf, bool dynamic,
                                      struct error *err);
void symbol_table_free(struct symbol_table *table); /* NULL is fine */
size_t symbol_table_count(const struct symbol_table *table);

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
