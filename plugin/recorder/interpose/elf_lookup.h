/* elf_lookup.h - finds a function in the objects loaded after this library. */
#ifndef HW_ELF_LOOKUP_H
#define HW_ELF_LOOKUP_H

struct link_map;

/* This library's own entry in the loader's list; NULL if it is not there. */
const struct link_map *elf_own_map(void);

/* The address of name in the first object behind map that defines it, and the
 * object; NULL: none.  No lock, no allocation: for before main, when nothing
 * is loaded or unloaded meanwhile. */
void *elf_lookup(const struct link_map *map, const char *name,
                 const struct link_map **where);

#endif
