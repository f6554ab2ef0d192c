/*
 * locate_malloc.c - whether a program exports a malloc of its own; heapwire-run
 * then preloads none, since the program's would be called in its place.
 */
#include "locate.h"

#include <string.h>

#include "errors.h"
#include "locate_work.h"
#include "memory.h"

struct search {
    struct locate_work *work;
    bool found;
};

static bool
see_malloc(void *arg, const char *before, uint64_t address)
{
    struct search *search = arg;

    (void)address;
    search->found = search->found || !*before;
    return !search->found;
}

/* Searches the first source alone, which is the dynamic symbols. */
static bool
search_first(void *arg, const struct symbol_source *source)
{
    struct search *search = arg;
    const struct symbol_query query = {"malloc", see_malloc, search};

    source->find(source->elf, search->work, &query);
    return false;
}

bool
locate_exports_malloc(int fd)
{
    struct search search = {.work = NULL};
    struct elf_file elf;
    struct error ignored;

    if (elf_init(&elf, fd, "", &ignored) != 0)
        return false;
    search.work = locate_work_new(&elf, &ignored);
    if (search.work)
        locate_symbols(&elf, NULL, search_first, &search);
    mem_free(search.work);
    elf_fini(&elf);
    return search.found;
}
