/*
 * object_index.h - makes an object's symbol index of its DWARF and symbols, or
 * of symbols only, with names as addr2line prints them.
 */
#ifndef HW_OBJECT_INDEX_H
#define HW_OBJECT_INDEX_H

#include <stddef.h>

struct dwarf;
struct elf_file;
struct error;
struct object_symbols;

/* Who takes the bytes of the index, in their order; -1 with *err ends it. */
struct index_sink {
    int (*write)(void *arg, const void *data, size_t size, struct error *err);
    /* Told before them that symbols are all that is in it, and why.  NULL:
     * without debug information there is to be no index. */
    void (*symbols_only)(void *arg, const char *why);
    void *arg;
};

/* elf is the mapped file, with the build-id; dwarf may be of another, or NULL:
 * there is none. */
int object_index_write(const struct elf_file *elf, struct dwarf *dwarf,
                       const struct object_symbols *symbols,
                       const struct index_sink *sink, struct error *err);

#endif
