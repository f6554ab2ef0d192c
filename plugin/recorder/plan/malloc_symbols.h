/*
 * malloc_symbols.h - where the functions of a program's own malloc lie.
 *
 * From its symbols, .symtab's or else .dynsym's.  A function has one symbol of
 * its name, and perhaps some of parts, as "je_free.cold".
 */
#ifndef HW_MALLOC_SYMBOLS_H
#define HW_MALLOC_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct error;

enum {
    MALLOC_SYMBOLS_MAX = 64,
    MALLOC_CODE_MAX = 1 << 16, /* bytes of one function */
    MALLOC_NAMES_MAX = 256 << 20
};

struct malloc_symbol {
    const char *name; /* of the function, without a prefix */
    bool part;
    uint64_t address, size;
};

struct malloc_symbols {
    struct malloc_symbol list[MALLOC_SYMBOLS_MAX];
    size_t count;
};

/* -1 with *err: what about the program forbids patching its malloc. */
int malloc_symbols_read(struct elf_file *elf, const char *prefix,
                        struct malloc_symbols *out, struct error *err);

#endif
