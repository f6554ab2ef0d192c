/* debug_beside.h - the split debug file of an object. */
#ifndef HW_DEBUG_BESIDE_H
#define HW_DEBUG_BESIDE_H

#include <limits.h>
#include <stdbool.h>

struct elf_file;

/* By build-id or debuglink, where libbfd looks for it: what is there is not
 * looked into.  The sections are loaded.  out is "" where there may be one, but
 * its name cannot be looked at. */
bool debug_beside_find(const struct elf_file *elf, const char *path,
                       char out[PATH_MAX]);

/* Whether there may be debug information, in the file or beside it, that an
 * index of its symbols only must not hide.  Loads the sections. */
bool debug_beside(struct elf_file *elf, const char *path);

#endif
