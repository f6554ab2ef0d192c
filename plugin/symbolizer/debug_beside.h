/*
 * debug_beside.h - whether there may be debug information of an object that an
 * index of its symbols only must not hide.
 */
#ifndef HW_DEBUG_BESIDE_H
#define HW_DEBUG_BESIDE_H

#include <stdbool.h>

struct elf_file;

/* In the file itself, or where a split debug file of it is looked for by
 * build-id or debuglink: what is there is not looked into.  Loads the
 * sections. */
bool debug_beside(struct elf_file *elf, const char *path);

#endif
