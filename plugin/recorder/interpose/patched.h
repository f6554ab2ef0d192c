/* patched.h - what stands before the malloc that a program brings. */
#ifndef HW_PATCHED_H
#define HW_PATCHED_H

#include <stddef.h>

struct patched_entry {
    const char *name;
    void (*replacement)(void); /* of the type of that name's function */
    size_t offset;
};

/* NULL: there is none of that name. */
const struct patched_entry *patched_find(const char *name);
/* Where the moved entry of the program's function is: before ours is called. */
void patched_set(const struct patched_entry *entry, const void *moved);

#endif
