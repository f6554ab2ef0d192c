/*
 * real.c - see real.h.
 *
 * Each entry begins as a function that finds all of them and calls the right
 * one, so our functions have no check and no lookup at a call.  An entry that
 * no object defines stays so, and looks again at each call, as an allocator may
 * have been loaded since.
 *
 * An operator is not looked for again: which one a library means depends on who
 * loaded it, and the one found may be unloaded.  It acts as libstdc++'s do,
 * calling malloc or free; only if memory ran out, a loaded operator is called,
 * because it throws std::bad_alloc.
 */
#include "real.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "elf_lookup.h"
#include "interpose.h"

/* Whether real_find() has been called. */
static bool searched;

static void find_loaded_functions(void);
static void *find_operator(const char *name);

static void
find_once(void)
{
    if (!searched)
        real_find();
}

#define FIRST(result, name, parameters, arguments, missing)                    \
    static result first_##name parameters                                      \
    {                                                                          \
        find_loaded_functions();                                               \
        if (real.name == first_##name)                                         \
            return missing;                                                    \
        return real.name arguments;                                            \
    }
REAL_MALLOC(FIRST)
REAL_JEMALLOC(FIRST)
REAL_LIBC(FIRST)
#undef FIRST

/* NOLINTBEGIN(bugprone-macro-parentheses): these declare. */
#define FIRST_NEW(result, name, parameters, arguments, missing)                \
    static result first_##name parameters                                      \
    {                                                                          \
        void *block, *late;                                                    \
        result(*throws) parameters;                                            \
                                                                               \
        find_once();                                                           \
        if (real.name != first_##name)                                         \
            return real.name arguments;                                        \
        block = missing;                                                       \
        late = block ? NULL : find_operator(#name);                            \
        if (!late)                                                             \
            return block;                                                      \
        memcpy(&throws, &late, sizeof(throws));                                \
        return throws arguments;                                               \
    }
REAL_NEW(FIRST_NEW)
#undef FIRST_NEW
/* NOLINTEND(bugprone-macro-parentheses) */

#define FIRST_DELETE(result, name, parameters, arguments, missing)             \
    static result first_##name parameters                                      \
    {                                                                          \
        find_once();                                                           \
        if (real.name == first_##name)                                         \
            (missing);                                                         \
        else                                                                   \
            real.name arguments;                                               \
    }
REAL_DELETE(FIRST_DELETE)
#undef FIRST_DELETE

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

/* Finds the entries that lie before end and were not found yet. */
static void
find_entries(const struct link_map *own, size_t end)
{
    const struct link_map *where;

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        char *entry = (char *)&real + entries[i].offset;
        void *found;

        if (entries[i].offset >= end ||
            memcmp(entry, (const char *)&firsts + entries[i].offset,
                   sizeof(found)) != 0)
            continue;
        found = elf_lookup(own, entries[i].name, &where);
        if (found)
            memcpy(entry, &found, sizeof(found));
    }
}

void
real_find(void)
{
    const struct link_map *own = elf_own_map(), *of_malloc = NULL,
                          *of_new = NULL;

    searched = true;
    find_entries(own, sizeof(real));
    if (elf_lookup(own, "malloc", &of_malloc) &&
        elf_lookup(own, "_Znwm", &of_new))
        real_new_is_allocators = of_malloc == of_new;
}

static int
look_up_in_loaded_objects(struct dl_phdr_info *info, size_t size, void *data)
{
    void **wanted = data; /* a name, then its function */
    const struct link_map *own = elf_own_map(), *where;

    (void)info, (void)size;
    if (*wanted)
        *wanted = elf_lookup(own, *wanted, &where);
    else
        find_entries(own, offsetof(struct real_functions, _Znwm));
    return 1;
}

/* After main began, other threads load and unload: dl_iterate_phdr() holds the
 * loader's lock, so its list does not change during the callback. */
static void
find_loaded_functions(void)
{
    void *all = NULL;

    if (searched)
        dl_iterate_phdr(look_up_in_loaded_objects, &all);
    else
        real_find();
}

static void *
find_operator(const char *name)
{
    void *wanted = (void *)name;

    dl_iterate_phdr(look_up_in_loaded_objects, &wanted);
    return wanted;
}
