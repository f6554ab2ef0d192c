/*
 * locate_give.c - the user's word on where mallctl lies.
 *
 * Called as mallctl, anything else ends the database: so the word must agree
 * with the file.  It has a jemalloc, a function starts there, and its own code
 * looks like that of five arguments, or the calls that the scan takes for
 * mallctl's do: some other functions pass, too.
 */
#include <elf.h>
#include <string.h>
#include <strings.h>

#include "errors.h"
#include "locate_work.h"
#include "memory.h"

struct search {
    struct locate_work *work;
    const char *symbol;
    uint64_t address; /* 0: not found yet */
};

static bool
is_whole_name(void *arg, const char *before, uint64_t address)
{
    struct search *search = arg;

    if (before[0] == '\0')
        search->address = address;
    return search->address == 0;
}

static bool
search_source(void *arg, const struct symbol_source *source)
{
    struct search *search = arg;
    struct symbol_wish wish = {search->symbol, is_whole_name, search};

    source->find(source->elf, search->work, &wish);
    return search->address == 0;
}

/* The jemalloc to which a symbol's mallctl belongs: the only one, if there is
 * just one. */
static struct locate_jemalloc *
jemalloc_of(struct locate *file, const char *symbol)
{
    size_t size = symbol ? strlen(symbol) : 0, tail = strlen("mallctl");
    size_t prefix = size >= tail ? size - tail : 0;

    for (size_t i = 0; symbol && i < file->count; i++) {
        struct locate_jemalloc *j = &file->jemallocs[i];

        if (strlen(j->prefix) == prefix &&
            strncasecmp(j->prefix, symbol, prefix) == 0)
            return j;
    }
    if (file->count == 0)
        file->count = 1;
    return &file->jemallocs[0];
}

/* NULL, or why it cannot be a mallctl. */
static const char *
judge(struct locate_work *work, uint64_t address, bool symbol)
{
    enum locate_start start = locate_starts(work->elf, address);

    if (!elf_is_code(work->elf, address))
        return "there is no code";
    if (start == LOCATE_START_ELSEWHERE)
        return "by .eh_frame no function starts there";
    if (start == LOCATE_START_UNKNOWN && !symbol)
        return "the file has no .eh_frame_hdr, which would say that a function "
               "starts there";
    locate_texts(work);
    if (!(work->marks & LOCATE_JEMALLOC))
        return "the file has no jemalloc";
    if (locate_takes_five(work, address))
        return NULL;
    locate_code(work);
    return locate_votes(work, address) > 0
               ? NULL
               : "the function there does not take five arguments, as mallctl "
                 "does";
}

int
locate_give(struct locate *file, int fd, const char *path, const char *symbol,
            uint64_t address, struct error *err)
{
    struct search search = {.symbol = symbol, .address = address};
    struct locate_jemalloc *j;
    struct elf_file elf;
    const char *why;
    int rc = -1;

    if (elf_init(&elf, fd, path, err) != 0)
        return -1;
    search.work = locate_work_new(&elf, err);
    if (!search.work)
        goto out;
    if (symbol)
        locate_symbols(&elf, path, search_source, &search);
    if (symbol && search.address == 0) {
        error_set(err, ER_WRONG_VALUE, "%s has no function %s", path, symbol);
        goto out;
    }
    why = judge(search.work, search.address, symbol != NULL);
    if (why) {
        error_set(err, ER_WRONG_VALUE, "%s has no mallctl at 0x%llx: %s", path,
                  (unsigned long long)search.address, why);
        goto out;
    }
    j = jemalloc_of(file, symbol);
    j->mallctl = search.address;
    j->how = LOCATE_GIVEN;
    locate_identify(file, &elf);
    rc = 0;
out:
    elf_fini(&elf);
    mem_free(search.work);
    return rc;
}
