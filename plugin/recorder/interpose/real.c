/*
 * real.c - see real.h.
 *
 * Each entry begins as a function that finds all of them and calls the right
 * one: ours look nothing up, and ask nothing, at a call.  An entry that nothing
 * has stays so, and is looked for again when it is called.
 */
#include "real.h"

#include <errno.h>
#include <string.h>

#include "elf_lookup.h"

#define FIRST(result, name, parameters, arguments, missing)                    \
    static result first_##name parameters                                      \
    {                                                                          \
        real_find();                                                           \
        if (real.name == first_##name)                                         \
            return missing;                                                    \
        return real.name arguments;                                            \
    }
REAL_FUNCTIONS(FIRST)
#undef FIRST

#define INITIAL(result, name, parameters, arguments, missing)                  \
    .name = first_##name,
struct real_functions real = {REAL_FUNCTIONS(INITIAL)};
static const struct real_functions firsts = {REAL_FUNCTIONS(INITIAL)};
#undef INITIAL

#define NAME(result, name, parameters, arguments, missing)                     \
    {#name, offsetof(struct real_functions, name)},
static const struct {
    const char *name;
    size_t offset;
} entries[] = {REAL_FUNCTIONS(NAME)};
#undef NAME

bool real_new_is_allocators;

void
real_find(void)
{
    const struct link_map *own = elf_own_map(), *of_malloc = NULL,
                          *of_new = NULL, *where;

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        char *entry = (char *)&real + entries[i].offset;
        void *found;

        if (memcmp(entry, (const char *)&firsts + entries[i].offset,
                   sizeof(found)) != 0)
            continue;
        found = elf_lookup(own, entries[i].name, &where);
        if (found)
            memcpy(entry, &found, sizeof(found));
    }
    if (elf_lookup(own, "malloc", &of_malloc) &&
        elf_lookup(own, "_Znwm", &of_new))
        real_new_is_allocators = of_malloc == of_new;
}
