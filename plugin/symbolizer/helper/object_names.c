/* object_names.c - see object_names.h. */
#include "object_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "bfd_names.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "symbol_table.h"
#include "unwind_table.h"

struct object_names {
    struct elf_file elf;
    struct bfd_names *dwarf; /* NULL: none to be had, or none wanted */
    struct symbol_table *symbols;
    struct unwind_table *unwind;
    struct bfd_chain chain;
    /* libiberty's, of the last answer */
    char *readable[NAMES_INLINE_MAX], *readable_symbol;
};

static bool
has_dwarf(const struct elf_file *elf)
{
    return elf_section(elf, ".debug_info") || elf_section(elf, ".zdebug_info");
}

/* Takes symbols, if we have none yet. */
static int
add_symbols(struct object_names *object, const struct elf_file *elf,
            bool dynamic, struct error *err)
{
    if (object->symbols && symbol_table_count(object->symbols) > 0)
        return 0;
    symbol_table_free(object->symbols);
    object->symbols = symbol_table_new(elf, dynamic, err);
    return object->symbols ? 0 : -1;
}

static int
open_dwarf(struct object_names *object, const struct elf_file *elf,
           const char *path, struct error *err)
{
    if (!has_dwarf(elf) || object->dwarf)
        return 0;
    object->dwarf = bfd_names_new(elf->fd, path, err);
    return object->dwarf ? 0 : -1;
}

/* The split debug file has the symbols and the DWARF that were stripped.  One
 * that is not what it seemed is as good as none. */
static int
use_debug_file(struct object_names *object, const char *path, bool symbols_only,
               struct error *err)
{
    char *debug_path = bfd_debug_file(object->elf.fd, path);
    struct elf_file debug = {0};
    int fd = -1, rc = 0;

    if (debug_path)
        fd = open(debug_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || elf_init(&debug, fd, debug_path, err) != 0)
        goto out;
    rc = -1;
    if (elf_load_sections(&debug, err) == 0 &&
        add_symbols(object, &debug, false, err) == 0 &&
        (symbols_only || open_dwarf(object, &debug, debug_path, err) == 0))
        rc = 0;
out:
    elf_fini(&debug);
    fd_close(fd);
    free(debug_path);
    return rc;
}

struct object_names *
object_names_new(int fd, const char *path, bool symbols_only, struct error *err)
{
    struct object_names *object = mem_zalloc(1, sizeof(*object));
    struct elf_file *elf;

    if (!object) {
        error_memory(err, "an object");
        return NULL;
    }
    elf = &object->elf;
    if (elf_init(elf, fd, path, err) != 0 || elf_load_sections(elf, err) != 0 ||
        add_symbols(object, elf, false, err) != 0)
        goto fail;
    if (!symbols_only && open_dwarf(object, elf, path, err) != 0)
        goto fail;
    if ((symbol_table_count(object->symbols) == 0 || !has_dwarf(elf)) &&
        use_debug_file(object, path, symbols_only, err) != 0)
        goto fail;
    if (add_symbols(object, elf, true, err) != 0)
        goto fail;
    object->unwind = unwind_table_new(elf, err);
    if (!object->unwind)
        goto fail;
    return object;
fail:
    object_names_free(object);
    return NULL;
}

static void
forget_answer(struct object_names *object)
{
    for (size_t i = 0; i < NAMES_INLINE_MAX; i++) {
        free(object->readable[i]);
        object->readable[i] = NULL;
    }
    free(object->readable_symbol);
    object->readable_symbol = NULL;
}

void
object_names_free(struct object_names *object)
{
    if (!object)
        return;
    forget_answer(object);
    bfd_names_free(object->dwarf);
    symbol_table_free(object->symbols);
    unwind_table_free(object->unwind);
    elf_fini(&object->elf);
    mem_free(object);
}

/* Whether a symbol's name may stand for address.  One without a size reaches
 * to the next symbol in its section, unless a function starts in between. */
static bool
reaches(const struct object_names *object, const struct symbol *symbol,
        uint64_t address)
{
    const struct elf_section *section;
    uint64_t start, end;

    if (symbol->size)
        return address - symbol->start < symbol->size;
    section = elf_section_at(&object->elf, address);
    if (!section || symbol->start < section->address)
        return false;
    return !unwind_table_find(object->unwind, address, &start, &end) ||
           start <= symbol->start;
}

/* libbfd, knowing no function, answers with the nearest symbol's name. */
static bool
is_guess(const struct object_names *object, const char *function,
         uint64_t address)
{
    const struct symbol *near = symbol_table_before(object->symbols, address);

    if (!near)
        return false;
    near = symbol_table_alias(object->symbols, near, function);
    return near && !reaches(object, near, address);
}

/* A first guess may hide a static function's own name: the second answer is
 * DWARF's alone. */
static int
ask_dwarf(struct object_names *object, uint64_t address)
{
    struct bfd_chain *chain = &object->chain;

    for (int attempt = 0; attempt < 2; attempt++) {
        if (bfd_names_ask(object->dwarf, address, chain) != 0)
            return -1;
        if (chain->count != 1 || !chain->frames[0].function ||
            !is_guess(object, chain->frames[0].function, address))
            return 0;
    }
    chain->frames[0].function = NULL;
    return 0;
}

/* The symbol at address; of its aliases the one called name, if there is. */
static const struct symbol *
symbol_at(const struct object_names *object, uint64_t address, const char *name)
{
    const struct symbol *symbol =
        symbol_table_holding(object->symbols, address);
    const struct symbol *alias = NULL;

    if (!symbol) {
        symbol = symbol_table_before(object->symbols, address);
        if (!symbol || !reaches(object, symbol, address))
            return NULL;
    }
    if (name)
        alias = symbol_table_alias(object->symbols, symbol, name);
    return alias ? alias : symbol;
}

/* Frames with readable names; one that nobody knows among known ones is "??",
 * as addr2line has it. */
static void
make_readable(struct object_names *object)
{
    for (uint32_t i = 0; i < object->chain.count; i++) {
        struct frame *frame = &object->chain.frames[i];

        if (!frame->function || !frame->function[0]) {
            frame->function = object->chain.count > 1 ? "??" : "";
            continue;
        }
        object->readable[i] = bfd_names_readable(frame->function);
        if (object->readable[i])
            frame->function = object->readable[i];
    }
}

int
object_names_ask(struct object_names *object, uint64_t offset,
                 struct object_answer *answer)
{
    struct bfd_chain *chain = &object->chain;
    const struct symbol *symbol;
    uint64_t address, end;

    forget_answer(object);
    chain->count = 0;
    if (!elf_address_of(&object->elf, offset, &address))
        address = offset;
    else if (object->dwarf && ask_dwarf(object, address) != 0)
        return -1;
    if (chain->count == 0) {
        chain->count = 1;
        chain->frames[0] = (struct frame){NULL, "", 0};
    }
    symbol =
        symbol_at(object, address, chain->frames[chain->count - 1].function);
    if (chain->count == 1 && !chain->frames[0].function && symbol)
        chain->frames[0].function = symbol->name;
    make_readable(object);
    answer->symbol = "";
    answer->start = address;
    if (symbol) {
        object->readable_symbol = bfd_names_readable(symbol->name);
        answer->symbol =
            object->readable_symbol ? object->readable_symbol : symbol->name;
        answer->start = symbol->start;
    } else {
        unwind_table_find(object->unwind, address, &answer->start, &end);
    }
    answer->frames = chain->frames;
    answer->frame_count = chain->count;
    return 0;
}
