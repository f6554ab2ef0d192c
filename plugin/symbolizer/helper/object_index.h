/*
 * object_index.h - makes an object's symbol index from its DWARF and symbols,
 * or from symbols only, with names as addr2line prints them.
 */
#ifndef HW_OBJECT_INDEX_H
#define HW_OBJECT_INDEX_H

#include <stddef.h>

struct dwarf;
struct elf_file;
struct error;
struct object_symbols;

/* Takes the bytes of the index, in their order; -1 with *err ends it. */
struct index_sink {
    int (*write)(void *arg, const void *data, size_t size, struct error *err);
    /* Called first if the index has symbols only; why says the reason.  NULL:
     * without debug information, make no index. */
    void (*symbols_only)(void *arg, const char *why);
    void *arg;
};

/* elf is the mapped file, with the build-id; dwarf may be of its debug file, or
 * NULL: there is none. */
int object_index_write(const struct elf_file *elf, struct dwarf *dwarf,
                       const struct object_symbols *symbols,
                       const struct index_sink *sink, struct error *err);

#endif
