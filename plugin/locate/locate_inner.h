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
struct error;
struct locate_inner;

/* Limits, whatever the file says: bytes of code and calls that are looked at to
 * find jemalloc's functions, and bytes of the functions that are asked for. A
 * jemalloc has 400 KB of code and 10,000 calls. */
enum {
    LOCATE_INNER_BYTES = 4 << 20,
    LOCATE_INNER_CALLS = 1 << 16,
    LOCATE_INNER_ASKED_BYTES = 64 << 20
};

/* mallctl: its virtual address.  NULL with *err: it cannot be said. */
struct locate_inner *locate_inner_new(const struct elf_file *elf,
                                      uint64_t mallctl, struct error *err);
void locate_inner_free(struct locate_inner *inner); /* NULL is fine */

/* Whether the function around a virtual address is jemalloc's.  Also false once
 * the limit for questions is used up. */
bool locate_inner_has(struct locate_inner *inner, uint64_t address);

#endif
