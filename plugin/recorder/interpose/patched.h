/* patched.h - the replacements of a malloc that is linked into the program. */
#ifndef HW_PATCHED_H
#define HW_PATCHED_H

#include <stddef.h>

struct patched_entry {
    const char *name;
    void (*replacement)(void); /* has the type of the function of that name */
    size_t offset;
};

/* NULL: there is none of that name. */
const struct patched_entry *patched_find(const char *name);
/* Sets where the program's function goes on; call it before the replacement can
 * be called. */
void patched_set(const struct patched_entry *entry, const void *moved);

#endif
