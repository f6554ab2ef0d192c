/* debug_beside.h - the split debug file of an object. */
#ifndef HW_DEBUG_BESIDE_H
#define HW_DEBUG_BESIDE_H

#include <limits.h>
#include <stdbool.h>

struct elf_file;

/* Finds it by build-id or debuglink, where libbfd looks; does not read the
 * file.  The sections must be loaded.  out is "" if there may be one, but its
 * path cannot be checked. */
bool debug_beside_find(const struct elf_file *elf, const char *path,
                       char out[PATH_MAX]);

/* Whether debug information may exist, in the file or beside it, that an index
 * with symbols only must not hide.  Loads the sections. */
bool debug_beside(struct elf_file *elf, const char *path);

#endif
