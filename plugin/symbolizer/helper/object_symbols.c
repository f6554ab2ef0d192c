/*
 * object_symbols.c - see object_symbols.h.
 *
 * libbfd names any address after the nearest symbol before it, however far.
 * Here each symbol's extent is known: inside it the name is certain; a symbol
 * without a size (assembly) reaches to the next symbol or function.  Names must
 * be those of addr2line, so candidates and aliases are chosen in binutils'
 * order, with one exception: malloc and the like come first, whatever aliases a
 * program gives them.  A table of a million symbols is sorted by radix in place
 * of qsort, which would take most of the time.
 */
#include "object_symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "memory.h"
#include "reader.h"
#include "search.h"
#include "function_ranges.h"

enum {
    SYMBOL_SIZE = 24,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    NESTING_MAX = 64 /* starts to look back for an enclosing symbol */
};

static const size_t table_bytes_max = (size_t)2 << 30;

struct symbol_table {
    struct buffer names;
    struct symbol *list; /* ascending, aliases best first */
    size_t count;
};

static size_t
size_without_version(struct span name)
{
    const char *at = memchr(name.data, '@', name.size);

    return at ? (size_t)(at - name.data) : name.size;
}

/* Whether names are equal but for a version behind '@'. */
static bool
is_same_name(struct span a, struct span b)
{
    size_t size = size_without_version(a);

    return size == size_without_version(b) && memcmp(a.data, b.data, size) == 0;
}

/* The functions by which programs allocate: C's, and C++'s operator new. */
static bool
is_allocators(const char *name)
{
    static const char *const all[] = {
        "malloc",       "calloc",         "realloc",
        "reallocarray", "posix_memalign", "aligned_alloc",
        "memalign",     "valloc",         "pvalloc"};

    if (name[0] == '_')
        return name[1] == 'Z' && name[2] == 'n' &&
               (name[3] == 'w' || name[3] == 'a');
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (name[0] == all[i][0] &&
            is_same_name(span_of(name), span_of(all[i])))
            return true;
    return false;
}

/* Moves an allocation function to the front of its aliases, among those of the
 * same extent: a program's own malloc may have a second name. */
static void
put_allocators_first(struct symbol *aliases, size_t count)
{
    struct symbol found;

    for (size_t i = 0; i < count && aliases[i].size >= aliases[0].size; i++) {
        if (!aliases[i].allocates)
            continue;
        found = aliases[i];
        memmove(aliases + 1, aliases, i * sizeof(*aliases));
        aliases[0] = found;
        return;
    }
}

/* Order among aliases: as binutils prefers those that reach the address:
 * functions, then typed ones, then the narrowest, then the first in the
 * file. */
static int
compare_symbols_by_rank(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (!x->size != !y->size)
        return x->size ? -1 : 1;
    if (x->function != y->function)
        return x->function ? -1 : 1;
    if (x->typed != y->typed)
        return x->typed ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct symbol *
sort_by_digit(struct symbol *from, struct symbol *to, size_t count,
              unsigned shift)
{
    size_t starts[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < count; i++)
        starts[from[i].start >> shift & (DIGITS - 1)]++;
    for (size_t i = 0; i < DIGITS; i++) {
        size_t n = starts[i];

        starts[i] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
    return to;
}

/* Radix sort by start, then sorts the few with equal starts: a fifth of qsort's
 * time.  -1 without memory. */
static int
sort_symbol_table(struct symbol_table *table)
{
    size_t count = table->count;
    struct symbol *list = table->list, *other;
    uint64_t bits = 0;

    for (size_t i = 0; i < count; i++)
        bits |= list[i].start;
    other = mem_alloc(count * sizeof(*other));
    if (!other)
        return -1;
    for (unsigned shift = 0; shift < 64 && bits >> shift; shift += DIGIT_BITS) {
        struct symbol *sorted = sort_by_digit(list, other, count, shift);

        other = list;
        list = sorted;
    }
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && list[next].start == list[i].start;
             next++)
            continue;
        if (next - i > 1) {
            qsort(list + i, next - i, sizeof(*list), compare_symbols_by_rank);
            put_allocators_first(list + i, next - i);
        }
    }
    table->list = list;
    mem_free(other);
    return 0;
}

/* Reads one symbol; true: it is a candidate by the rules of binutils'
 * elf_find_function. */
static bool
take_symbol(struct reader *r, const struct elf_file *elf,
            struct symbol_table *table, uint32_t order)
{
    struct symbol *s = &table->list[table->count];
    uint32_t name = reader_u32(r);
    uint8_t info = reader_u8(r), other = reader_u8(r);
    uint16_t section = reader_u16(r);
    uint8_t type = ELF64_ST_TYPE(info);

    s->start = reader_u64(r);
    s->size = reader_u64(r);
    s->order = order;
    s->function = type == STT_FUNC || type == STT_GNU_IFUNC;
    s->typed = type != STT_NOTYPE;
    if (r->failed || (!s->function && s->typed) || name >= table->names.size ||
        section == SHN_UNDEF ||
        (section >= SHN_LORESERVE && section != SHN_XINDEX))
        return false;
    s->name = table->names.data + name;
    /* $x and $d are ARM's marks between code and data */
    if (!s->name[0] || (!s->typed && s->name[0] == '$') ||
        s->size > UINT64_MAX - s->start)
        return false;
    /* annobin marks, which binutils skips, too */
    if (s->size == 0 && !s->typed && ELF64_ST_BIND(info) == STB_LOCAL &&
        ELF64_ST_VISIBILITY(other) == STV_HIDDEN)
        return false;
    s->allocates = s->function && is_allocators(s->name);
    return section < elf->section_count &&
           (elf->sections[section].flags & SHF_EXECINSTR);
}

static int
load_symbol_table(struct symbol_table *table, const struct elf_file *elf,
                  const struct elf_section *symbols)
{
    const struct elf_section *names;
    struct buffer bytes;
    struct reader r;
    size_t count = symbols->size / SYMBOL_SIZE;
    int rc = -1;

    if (symbols->link >= elf->section_count)
        return 0;
    names = &elf->sections[symbols->link];
    buffer_init(&bytes, table_bytes_max);
    /* The buffer adds the NUL that a damaged file may lack. */
    if (elf_read(elf, names->offset, names->size, &table->names) != 0 ||
        elf_read(elf, symbols->offset, count * SYMBOL_SIZE, &bytes) != 0) {
        rc = bytes.failed || table->names.failed ? -1 : 0;
        goto out;
    }
    table->list = mem_zalloc(count, sizeof(*table->list));
    if (!table->list)
        goto out;
    r = reader_of(bytes.data, bytes.size);
    for (size_t i = 0; i < count; i++) {
        struct reader one = reader_of(r.pos, SYMBOL_SIZE);

        reader_bytes(&r, SYMBOL_SIZE);
        table->count += take_symbol(&one, elf, table, (uint32_t)i);
    }
    rc = sort_symbol_table(table);
out:
    buffer_fini(&bytes);
    return rc;
}

struct symbol_table *
symbol_table_new(const struct elf_file *elf, bool dynamic, struct error *err)
{
    struct symbol_table *table = mem_zalloc(1, sizeof(*table));
    uint32_t wanted = dynamic ? SHT_DYNSYM : SHT_SYMTAB;

    if (!table) {
        error_memory(err, "the symbol table");
        return NULL;
    }
    buffer_init(&table->names, table_bytes_max);
    for (size_t i = 0; i < elf->section_count; i++) {
        if (elf->sections[i].type != wanted)
            continue;
        if (load_symbol_table(table, elf, &elf->sections[i]) != 0) {
            error_memory(err, "the symbol table");
            symbol_table_free(table);
            return NULL;
        }
        break;
    }
    return table;
}

void
symbol_table_free(struct symbol_table *table)
{
    if (!table)
        return;
    buffer_fini(&table->names);
    mem_free(table->list);
    mem_free(table);
}

static size_t
symbol_table_count(const struct symbol_table *table)
{
    return table->count;
}

/* The index past the last symbol that starts at or before address. */
static size_t
symbol_upper_bound(const struct symbol_table *table, uint64_t address)
{
    return SEARCH_ABOVE(table->list, table->count, start, address);
}

static size_t
first_alias(const struct symbol_table *table, size_t i)
{
    while (i > 0 && table->list[i - 1].start == table->list[i].start)
        i--;
    return i;
}

const struct symbol *
symbol_table_before(const struct symbol_table *table, uint64_t address)
{
    size_t i = symbol_upper_bound(table, address);

    return i ? &table->list[first_alias(table, i - 1)] : NULL;
}

const struct symbol *
symbol_table_holding(const struct symbol_table *table, uint64_t address)
{
    size_t i = symbol_upper_bound(table, address), first;

    /* A symbol may enclose others (a function with local labels).  How far back
     * it starts is unknown, so the search is bounded. */
    for (int back = 0; back < NESTING_MAX && i > 0; back++, i = first) {
        first = first_alias(table, i - 1);
        for (size_t j = first; j < i; j++)
            if (address - table->list[j].start < table->list[j].size)
                return &table->list[j];
    }
    return NULL;
}

const struct symbol *
symbol_table_alias(const struct symbol_table *table,
                   const struct symbol *symbol, struct span name)
{
    const struct symbol *end = table->list + table->count, *widest = NULL;

    for (const struct symbol *s = symbol; s < end && s->start == symbol->start;
         s++)
        if (is_same_name(span_of(s->name), name) &&
            (!widest || s->size > widest->size))
            widest = s;
    return widest;
}

uint64_t
symbol_table_next(const struct symbol_table *table, uint64_t address)
{
    size_t i = symbol_upper_bound(table, address);

    return i < table->count ? table->list[i].start : UINT64_MAX;
}

/* ---- the symbol of an address ---- */

struct object_symbols {
    const struct elf_file *elf;
    struct symbol_table *table;
    struct function_ranges *ranges;
};

/* Reads a table of symbols unless there is one with any already. */
static int
read_symbols_if_none(struct object_symbols *symbols, const struct elf_file *elf,
                     bool dynamic, struct error *err)
{
    if (symbols->table && symbol_table_count(symbols->table) > 0)
        return 0;
    symbol_table_free(symbols->table);
    symbols->table = symbol_table_new(elf, dynamic, err);
    return symbols->table ? 0 : -1;
}

/* .symtab of the object, or else of its debug file, or else .dynsym: the first
 * one that has any symbol of code. */
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
    if (read_symbols_if_none(symbols, object, false, err) != 0 ||
        (debug && read_symbols_if_none(symbols, debug, false, err) != 0) ||
        read_symbols_if_none(symbols, object, true, err) != 0)
        goto fail;
    symbols->ranges = function_ranges_new(object, err);
    if (symbols->ranges)
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
    function_ranges_free(symbols->ranges);
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

/* Whether a symbol contains address.  One without a size extends to the next
 * symbol in its section, unless a function starts in between. */
static bool
is_address_in_symbol(const struct object_symbols *symbols,
                     const struct symbol *symbol, uint64_t address)
{
    const struct elf_section *section;
    uint64_t start, end;

    if (symbol->size)
        return address - symbol->start < symbol->size;
    section = elf_section_at(symbols->elf, address);
    if (!section || symbol->start < section->address)
        return false;
    return !function_ranges_find(symbols->ranges, address, &start, &end) ||
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
        if (!symbol || !is_address_in_symbol(symbols, symbol, address))
            return NULL;
    }
    /* the name that DWARF gives decides among aliases, but not against
     * malloc */
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
    return near && !is_address_in_symbol(symbols, near, address);
}

bool
object_symbols_function(const struct object_symbols *symbols, uint64_t address,
                        uint64_t *start)
{
    uint64_t end;

    return function_ranges_find(symbols->ranges, address, start, &end);
}

uint64_t
object_symbols_start(const struct object_symbols *symbols, uint64_t address)
{
    uint64_t start;

    return object_symbols_function(symbols, address, &start) ? start : address;
}

static uint64_t
smaller_address(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Too small an end costs a repeated question, too large a one a wrong name: so
 * the nearest of all possible changes. */
uint64_t
object_symbols_end(const struct object_symbols *symbols, uint64_t address)
{
    const struct symbol *holder = symbol_table_holding(symbols->table, address);
    const struct elf_section *section = elf_section_at(symbols->elf, address);
    uint64_t end = symbol_table_next(symbols->table, address);
    uint64_t start, stop;

    if (holder)
        return smaller_address(end, holder->start + holder->size);
    if (section)
        end = smaller_address(end, section->address + section->size);
    if (function_ranges_find(symbols->ranges, address, &start, &stop))
        end = smaller_address(end, stop);
    return smaller_address(end, function_ranges_next(symbols->ranges, address));
}
