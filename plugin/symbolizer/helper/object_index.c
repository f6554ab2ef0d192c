/*
 * object_index.c - see object_index.h: connects symbol_index_write(), which
 * knows neither libbfd nor symbol tables, to the demangler and to the object's
 * symbols.
 */
#include "object_index.h"

#include <stdlib.h>
#include <string.h>

#include "bfd_names.h"
#include "memory.h"
#include "object_symbols.h"
#include "symbol_index.h"

struct making {
    const struct object_symbols *symbols;
    const struct index_sink *sink;
    char *readable,
        *readable_symbol; /* the last answers, allocated by libiberty */
};

/* symbol_index_source.readable */
static const char *
make_readable(void *arg, struct span name)
{
    struct making *making = arg;
    char *raw = mem_strndup(name.data, name.size);

    free(making->readable);
    making->readable = raw ? bfd_names_readable(raw) : NULL;
    mem_free(raw);
    return making->readable;
}

/* Whether the name is a linkage name of C++ or Rust.  Only those distinguish a
 * symbol's aliases; another function is printed by its symbol's best alias. */
static bool
is_mangled(struct span name)
{
    return name.size > 2 && name.data[0] == '_' &&
           (name.data[1] == 'Z' || name.data[1] == 'R');
}

/* symbol_index_source.symbol */
static void
find_address_symbol(void *arg, uint64_t address, struct span outermost,
                    struct index_symbol *out)
{
    struct making *making = arg;
    const struct symbol *symbol;

    if (!is_mangled(outermost))
        outermost.size = 0;
    symbol = object_symbols_at(making->symbols, address, outermost);
    out->end = object_symbols_end(making->symbols, address);
    out->start = 0;
    out->name = (struct span){"", 0};
    if (!symbol) {
        (void)object_symbols_function(making->symbols, address, &out->start);
        return;
    }
    out->start = symbol->start;
    free(making->readable_symbol);
    making->readable_symbol = bfd_names_readable(symbol->name);
    out->name.data =
        making->readable_symbol ? making->readable_symbol : symbol->name;
    out->name.size = strlen(out->name.data);
}

static int
forward_index_bytes(void *arg, const void *data, size_t size, struct error *err)
{
    const struct making *making = arg;

    return making->sink->write(making->sink->arg, data, size, err);
}

int
object_index_write(const struct elf_file *elf, struct dwarf *dwarf,
                   const struct object_symbols *symbols,
                   const struct index_sink *sink, struct error *err)
{
    struct making making = {.symbols = symbols, .sink = sink};
    const struct symbol_index_source source = {.elf = elf,
                                               .dwarf = dwarf,
                                               .symbol = find_address_symbol,
                                               .readable = make_readable,
                                               .write = forward_index_bytes,
                                               .arg = &making};
    int rc = symbol_index_write(&source, err);

    free(making.readable);
    free(making.readable_symbol);
    return rc;
}
