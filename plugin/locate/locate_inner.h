/*
 * locate_inner.h - which functions are jemalloc's own, without symbols.
 *
 * In a program that has jemalloc linked into it and its symbols stripped,
 * every sampled stack begins with functions of jemalloc that have no names.
 * Any thread; the file must stay open.
 */
#ifndef HW_LOCATE_INNER_H
#define HW_LOCATE_INNER_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct locate_inner;

/* mallctl: its virtual address.  NULL: it cannot be said, or no memory. */
struct locate_inner *locate_inner_new(const struct elf_file *elf,
                                      uint64_t mallctl);
void locate_inner_free(struct locate_inner *inner); /* NULL is fine */

/* Whether the function around a virtual address is jemalloc's. */
bool locate_inner_has(struct locate_inner *inner, uint64_t address);

#endif
