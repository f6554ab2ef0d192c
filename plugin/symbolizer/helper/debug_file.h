/*
 * debug_file.h - the split debug file of an object: which of the two files has
 * the symbols, and which the DWARF.  One thread's until the file is searched.
 */
#ifndef HW_DEBUG_FILE_H
#define HW_DEBUG_FILE_H

#include <stdbool.h>

#include "elf_file.h"

struct debug_file {
    const struct elf_file *object;
    const char *object_path;
    bool sought;
    int fd;     /* -1: none */
    char *path; /* libbfd's */
    struct elf_file elf;
};

/* object must have its sections loaded before the first search; path is its
 * path.  Both are borrowed. */
void debug_file_init(struct debug_file *file, const struct elf_file *object,
                     const char *path);
void debug_file_fini(struct debug_file *file);

/* Both may ask libbfd at the first call; an unreadable debug file counts as
 * none. */

/* The file with the DWARF, the object or its debug file, and its path; NULL:
 * none. */
const struct elf_file *debug_file_dwarf(struct debug_file *file,
                                        const char **path);
/* The debug file, if the object itself has dynamic symbols only; NULL: it has
 * others, or there is no debug file. */
const struct elf_file *debug_file_symbols(struct debug_file *file);

#endif
