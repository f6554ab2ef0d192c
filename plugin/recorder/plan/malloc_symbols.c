/*
 * malloc_symbols.c - see malloc_symbols.h.
 *
 * A free that the recorder does not see leaves a sample of a block that is
 * gone, so a program is refused unless all ways to allocate and free are known.
 * What jemalloc exports is global; so a global function with its prefix that
 * allocates or frees, and is not known here, is a reason.  So is link-time
 * optimisation, which inlines calls: its object files have no names among the
 * STT_FILE symbols (the linker itself leaves one such), and jemalloc.c is
 * missing.
 */
#include "malloc_symbols.h"

#include <elf.h>
#include <string.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "reader.h"

enum { SYMBOL_SIZE = 24, STEP_BYTES = SYMBOL_SIZE << 12 };

static const char *const family[] = {
    "malloc",         "calloc",   "realloc",  "free",    "aligned_alloc",
    "posix_memalign", "memalign", "valloc",   "pvalloc", "mallocx",
    "rallocx",        "xallocx",  "sdallocx", "dallocx", NULL};

/* Functions of jemalloc that neither allocate nor free, whatever their names
 * say. */
static const char *const harmless[] = {"malloc_usable_size",
                                       "malloc_size",
                                       "malloc_stats_print",
                                       "sallocx",
                                       "nallocx",
                                       NULL};

struct symbol {
    const char *name;
    unsigned type;
    bool defined, given; /* given: visible to all other files */
    uint64_t address, size;
};

struct malloc_symbol_search {
    const char *prefix;
    struct malloc_symbols *out;
    bool own_file, cxx_file, operators;
    size_t nameless; /* STT_FILE symbols without a name */
    struct error *err;
};

static const char *
find_name(const char *const *names, const char *text, size_t size)
{
    for (; *names; names++)
        if (strlen(*names) == size && memcmp(*names, text, size) == 0)
            return *names;
    return NULL;
}

static int
add_malloc_symbol(struct malloc_symbol_search *l, const struct symbol *symbol,
                  const char *name, bool part)
{
    if (symbol->type == STT_GNU_IFUNC || symbol->size == 0 ||
        symbol->size > MALLOC_CODE_MAX) {
        error_set(l->err, ER_FEATURE_DISABLED,
                  symbol->type == STT_GNU_IFUNC
                      ? "its %s is chosen when it starts (an IFUNC)"
                      : "the symbol of its %s has no size, or a wrong one",
                  symbol->name);
        return -1;
    }
    if (l->out->count == MALLOC_SYMBOLS_MAX) {
        error_set(l->err, ER_FEATURE_DISABLED,
                  "its malloc has too many symbols");
        return -1;
    }
    l->out->list[l->out->count++] = (struct malloc_symbol){
        .name = name,
        .part = part,
        .address = symbol->address,
        .size = symbol->size,
    };
    return 0;
}

static int
see_function(struct malloc_symbol_search *l, const struct symbol *symbol)
{
    size_t prefix = strlen(l->prefix);
    const char *rest = symbol->name + prefix, *name;
    size_t size;

    l->operators = l->operators || strncmp(symbol->name, "_ZdlPv", 6) == 0;
    if (strncmp(symbol->name, l->prefix, prefix) != 0)
        return 0;
    size = strcspn(rest, ".");
    name = find_name(family, rest, size);
    if (name)
        return add_malloc_symbol(l, symbol, name, rest[size] != '\0');
    if (prefix == 0 || !symbol->given ||
        (!strstr(rest, "alloc") && !strstr(rest, "free")) ||
        find_name(harmless, rest, strlen(rest)))
        return 0;
    error_set(l->err, ER_FEATURE_DISABLED,
              "its malloc has a function that is not known here, %s",
              symbol->name);
    return -1;
}

static int
see_elf_symbol(struct malloc_symbol_search *l, const struct symbol *symbol)
{
    if (symbol->type == STT_FILE) {
        l->nameless += !*symbol->name || strcmp(symbol->name, "ld-temp.o") == 0;
        l->own_file = l->own_file || strcmp(symbol->name, "jemalloc.c") == 0;
        l->cxx_file =
            l->cxx_file || strcmp(symbol->name, "jemalloc_cpp.cpp") == 0;
        return 0;
    }
    return symbol->defined &&
                   (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC)
               ? see_function(l, symbol)
               : 0;
}

static struct symbol
read_symbol(struct reader *r, const struct buffer *names)
{
    struct symbol symbol = {.name = ""};
    uint32_t at = reader_u32(r);
    uint8_t info = reader_u8(r), visibility = reader_u8(r);

    symbol.defined = reader_u16(r) != SHN_UNDEF;
    symbol.address = reader_u64(r);
    symbol.size = reader_u64(r);
    symbol.type = ELF64_ST_TYPE(info);
    symbol.given = ELF64_ST_BIND(info) != STB_LOCAL &&
                   ELF64_ST_VISIBILITY(visibility) == STV_DEFAULT;
    if (at < names->size) /* ended by a NUL, as all buffers are */
        symbol.name = names->data + at;
    return symbol;
}

static int
see_table(const struct elf_file *elf, const struct elf_section *table,
          const struct buffer *names, struct malloc_symbol_search *l)
{
    struct buffer bytes;
    int rc = 0;

    buffer_init(&bytes, STEP_BYTES);
    for (uint64_t done = 0; rc == 0 && done < table->size; done += STEP_BYTES) {
        uint64_t left = table->size - done;
        struct reader r;

        buffer_clear(&bytes);
        if (elf_read(elf, table->offset + done,
                     left < STEP_BYTES ? left : STEP_BYTES, &bytes) != 0) {
            error_set(l->err, ER_FEATURE_DISABLED,
                      "its symbols cannot be read");
            rc = -1;
        }
        r = reader_of(bytes.data, bytes.size);
        while (rc == 0 && reader_left(&r) >= SYMBOL_SIZE) {
            struct symbol symbol = read_symbol(&r, names);

            rc = see_elf_symbol(l, &symbol);
        }
    }
    buffer_fini(&bytes);
    return rc;
}

/* To be called after all symbols were seen. */
static int
check_origin(const struct malloc_symbol_search *l)
{
    const char *why = NULL;

    if (l->nameless > 1 && !l->own_file)
        why = "its malloc was optimised when it was linked: some calls may be "
              "inlined";
    else if (l->operators && (l->cxx_file || !l->own_file))
        why = "its operators new and delete may be jemalloc's own";
    if (why)
        error_set(l->err, ER_FEATURE_DISABLED, "%s", why);
    return why ? -1 : 0;
}

int
malloc_symbols_read(struct elf_file *elf, const char *prefix,
                    struct malloc_symbols *out, struct error *err)
{
    struct malloc_symbol_search l = {.prefix = prefix, .out = out, .err = err};
    const struct elf_section *table = NULL, *texts;
    struct buffer names;
    int rc = -1;

    memset(out, 0, sizeof(*out));
    buffer_init(&names, MALLOC_NAMES_MAX);
    if (elf_load_sections(elf, err) == 0) {
        table = elf_section(elf, ".symtab");
        table = table ? table : elf_section(elf, ".dynsym");
    }
    if (!table || table->link >= elf->section_count) {
        error_set(err, ER_FEATURE_DISABLED, "it has no symbols");
        goto out;
    }
    texts = &elf->sections[table->link];
    if (elf_read(elf, texts->offset, texts->size, &names) != 0)
        error_set(err, ER_FEATURE_DISABLED, "its symbols cannot be read");
    else
        rc = see_table(elf, table, &names, &l);
    if (rc == 0)
        rc = check_origin(&l);
out:
    buffer_fini(&names);
    return rc;
}
