/*
 * object_symbols.h - which symbol an address of one object lies in, and where
 * its function starts when it has none.
 *
 * The symbols' sizes decide whether a name is one or only the nearest; the
 * unwind table says where functions without a symbol start.
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

/* Of files with loaded sections: object and, if it has one, its split debug
 * file.  object has to stay open.  NULL only without memory. */
struct object_symbols *object_symbols_new(const struct elf_file *object,
                                          const struct elf_file *debug,
                                          struct error *err);
void object_symbols_free(struct object_symbols *symbols); /* NULL is fine */

/* Whether there are symbols that the linker put there, not only those for
 * other objects. */
bool object_has_symbols(const struct elf_file *elf);

/* Whether there is any. */
bool object_symbols_any(const struct object_symbols *symbols);

/* The symbol that address lies in, or NULL; of its aliases malloc or such, else
 * the one of that name, if there is. */
const struct symbol *object_symbols_at(const struct object_symbols *symbols,
                                       uint64_t address, struct span name);

/* Whether that is the name of a symbol before address that does not reach it:
 * what libbfd says when it knows no function. */
bool object_symbols_guessed(const struct object_symbols *symbols,
                            uint64_t address, struct span name);

/* Whether it is known where the function at address starts. */
bool object_symbols_function(const struct object_symbols *symbols,
                             uint64_t address, uint64_t *start);
/* Likewise; address itself when nobody knows. */
uint64_t object_symbols_start(const struct object_symbols *symbols,
                              uint64_t address);

/* Up to where, from address on, object_symbols_at surely gives the same. */
uint64_t object_symbols_end(const struct object_symbols *symbols,
                            uint64_t address);

#endif
