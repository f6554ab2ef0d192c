/*
 * debug_file.h - the split debug file of an object: the symbols and the DWARF
 * that were stripped from it.  One thread's, until it was sought.
 */
#ifndef HW_DEBUG_FILE_H
#define HW_DEBUG_FILE_H

#include <stdbool.h>

#include "elf_file.h"

struct debug_file {
    bool sought;
    int fd;     /* -1: there is none */
    char *path; /* libbfd's */
    struct elf_file elf;
};

void debug_file_init(struct debug_file *file);
void debug_file_fini(struct debug_file *file);

/* Of the object behind fd, which is said to be at path; may ask libbfd, the
 * first time.  One that is not what it seemed is as good as none: NULL. */
const struct elf_file *debug_file_find(struct debug_file *file, int fd,
                                       const char *path);

#endif
