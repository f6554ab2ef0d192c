/*
 * debug_file.h - the split debug file of an object: the symbols and the DWARF
 * that were stripped from it, and which of the two files has them.  One
 * thread's, until it was sought.
 */
#ifndef HW_DEBUG_FILE_H
#define HW_DEBUG_FILE_H

#include <stdbool.h>

#include "elf_file.h"

struct debug_file {
    const struct elf_file *object;
    const char *object_path;
    bool sought;
    int fd;     /* -1: there is none */
    char *path; /* libbfd's */
    struct elf_file elf;
};

/* Of object, with loaded sections by the time that anything is sought, which is
 * said to be at path; both stay the caller's. */
void debug_file_init(struct debug_file *file, const struct elf_file *object,
                     const char *path);
void debug_file_fini(struct debug_file *file);

/* These may ask libbfd, the first time; a file that is not what it seemed is as
 * good as none. */

/* The file with the DWARF, the object or its debug file, and where that is;
 * NULL: there is none. */
const struct elf_file *debug_file_dwarf(struct debug_file *file,
                                        const char **path);
/* The debug file, where the object itself has no symbols but those for others;
 * NULL: it has, or there is none. */
const struct elf_file *debug_file_symbols(struct debug_file *file);

#endif
