/* object_symbols.c - see object_symbols.h. */
#include "object_symbols.h"

#include <elf.h>

#include "elf_file.h"
#include "errors.h"
#include "memory.h"
#include "symbol_table.h"
#include "unwind_table.h"

struct object_symbols {
    const struct elf_file *elf;
    struct symbol_table *table;
    struct unwind_table *unwind;
};

/* Takes symbols unless there are some already. */
static int
add_symbols(struct object_symbols *symbols, const struct elf_file *elf,
            bool dynamic, struct error *err)
{
    if (symbols->table && symbol_table_count(symbols->table) > 0)
        return 0;
    symbol_table_free(symbols->table);
    symbols->table = symbol_table_new(elf, dynamic, err);
    return symbols->table ? 0 : -1;
}

struct object_symbols *
object_symbols_new(const struct elf_file *object, const struct elf_file *debug,
                   struct error *err)
{
    struct object_symbols *symbols = mem_zalloc(1, sizeof(*symbols));

    if (!symbols) {
        error_memory(err, "symbols");
        return NULL;
    }
    symbols->elf = object;
    if (add_symbols(symbols, object, false, err) != 0 ||
        (debug && add_symbols(symbols, debug, false, err) != 0) ||
        add_symbols(symbols, object, true, err) != 0)
        goto fail;
    symbols->unwind = unwind_table_new(object, err);
    if (symbols->unwind)
        return symbols;
fail:
    object_symbols_free(symbols);
    return NULL;
}

void
object_symbols_free(struct object_symbols *symbols)
{
    if (!symbols)
        return;
    symbol_table_free(symbols->table);
    unwind_table_free(symbols->unwind);
    mem_free(symbols);
}

bool
object_has_symbols(const struct elf_file *elf)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].type == SHT_SYMTAB)
            return elf->sections[i].size > 0;
    return false;
}

bool
object_symbols_any(const struct object_symbols *symbols)
{
    return symbol_table_count(symbols->table) > 0;
}

/* Whether a symbol's name may stand for address.  One without a size extends to
 * the next symbol in its section, unless a function starts in between. */
static bool
reaches(const struct object_symbols *symbols, const struct symbol *symbol,
        uint64_t address)
{
    const struct elf_section *section;
    uint64_t start, end;

    if (symbol->size)
        return address - symbol->start < symbol->size;
    section = elf_section_at(symbols->elf, address);
    if (!section || symbol->start < section->address)
        return false;
    return !unwind_table_find(symbols->unwind, address, &start, &end) ||
           start <= symbol->start;
}

const struct symbol *
object_symbols_at(const struct object_symbols *symbols, uint64_t address,
                  struct span name)
{
    const struct symbol *symbol = symbol_table_holding(symbols->table, address);
    const struct symbol *alias = NULL;

    if (!symbol) {
        symbol = symbol_table_before(symbols->table, address);
        if (!symbol || !reaches(symbols, symbol, address))
            return NULL;
    }
    if (name.size && !symbol->allocates)
        alias = symbol_table_alias(symbols->table, symbol, name);
    return alias ? alias : symbol;
}

bool
object_symbols_guessed(const struct object_symbols *symbols, uint64_t address,
                       struct span name)
{
    const struct symbol *near = symbol_table_before(symbols->table, address);

    if (!near)
        return false;
    near = symbol_table_alias(symbols->table, near, name);
    return near && !reaches(symbols, near, address);
}

bool
object_symbols_function(const struct object_symbols *symbols, uint64_t address,
                        uint64_t *start)
{
    uint64_t end;

    return unwind_table_find(symbols->unwind, address, start, &end);
}

uint64_t
object_symbols_start(const struct object_symbols *symbols, uint64_t address)
{
    uint64_t start;

    return object_symbols_function(symbols, address, &start) ? start : address;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t
object_symbols_end(const struct object_symbols *symbols, uint64_t address)
{
    const struct symbol *holder = symbol_table_holding(symbols->table, address);
    const struct elf_section *section = elf_section_at(symbols->elf, address);
    uint64_t end = symbol_table_next(symbols->table, address);
    uint64_t start, stop;

    if (holder)
        return least(end, holder->start + holder->size);
    if (section)
        end = least(end, section->address + section->size);
    if (unwind_table_find(symbols->unwind, address, &start, &stop))
        end = least(end, stop);
    return least(end, unwind_table_next(symbols->unwind, address));
}
