/* patched.c - see patched.h. */
#include "patched.h"

#include <string.h>

#include "family.h"

/* The moved entries; NULL: the program has no such function. */
static struct real_functions patched;

#define PATCHED(result, name, parameters, arguments, missing)                  \
    static result patched_##name parameters                                    \
    {                                                                          \
        return family_##name(&patched FAMILY_AND arguments);                   \
    }
REAL_MALLOC(PATCHED)
REAL_JEMALLOC(PATCHED)
#undef PATCHED

#define ENTRY(result, name, parameters, arguments, missing)                    \
    {#name, (void (*)(void))patched_##name,                                    \
     offsetof(struct real_functions, name)},
static const struct patched_entry entries[] = {REAL_MALLOC(ENTRY)
                                                   REAL_JEMALLOC(ENTRY)};
#undef ENTRY

const struct patched_entry *
patched_find(const char *name)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

void
patched_set(const struct patched_entry *entry, const void *moved)
{
    memcpy((char *)&patched + entry->offset, &moved, sizeof(moved));
}
