/*
 * locate_symbols.c - functions by the end of their names; see locate_work.h.
 *
 * We look for <any prefix>mallctl, so a hash table of whole names is no help,
 * and a database may have two million symbols.  The string table is searched
 * first, for the few names with that ending; then one pass over the symbols
 * compares numbers only.  Linkers let a symbol's name begin inside a longer
 * one, so a name is found by its end.  Tables are read piece by piece: nothing
 * is mapped, since a file that is cut short meanwhile would raise SIGBUS in the
 * agent's host.
 */
#include <elf.h>
#include <limits.h>
#include <string.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "locate_work.h"
#include "reader.h"

enum {
    NAMES_FOUND_MAX = 32,
    SYMBOL_SIZE = 24,
    HASHED_MAX = 1 << 24,
    CHAIN_MAX = 4096
};

/* File offsets. */
struct table {
    uint64_t symbols, symbols_size, names, names_size;
};

/* A whole text of the string table that ends as wanted; a symbol's name may
 * begin anywhere in it. */
struct name {
    uint64_t start, ending; /* in the table of names */
    char text[LOCATE_PREFIX_MAX];
};

struct names {
    struct name list[NAMES_FOUND_MAX];
    size_t count;
};

static void
add_matching_name(struct names *names, const uint8_t *bytes, size_t at,
                  uint64_t position)
{
    struct name *name = &names->list[names->count];
    size_t size = 0;

    while (size < at && bytes[at - size - 1] != '\0')
        size++;
    if (size >= LOCATE_PREFIX_MAX || names->count == NAMES_FOUND_MAX)
        return;
    *name = (struct name){.start = position - size, .ending = position};
    memcpy(name->text, bytes + at - size, size);
    names->count++;
}

static void
find_names(const struct elf_file *elf, const struct table *table,
           struct locate_work *work, const char *ending, struct names *out)
{
    size_t size = strlen(ending) + 1;

    for (uint64_t done = 0; done < table->names_size; done += PIECE_BYTES) {
        uint64_t back = done < PIECE_BACK ? done : PIECE_BACK;
        uint64_t left = table->names_size - done + back;
        size_t n = left < sizeof(work->piece) ? left : sizeof(work->piece);
        const uint8_t *found, *from = work->piece + back;
        const uint8_t *end = work->piece + n;

        if (elf_read_at(elf, table->names + done - back, n, work->piece) != 0)
            return;
        while ((found = memmem(from, (size_t)(end - from), ending, size)) &&
               (size_t)(found - work->piece) < back + PIECE_BYTES) {
            size_t at = (size_t)(found - work->piece);

            add_matching_name(out, work->piece, at, done - back + at);
            from = found + 1;
        }
    }
}

/* Reads one symbol (Elf64_Sym) and reports it if its name matches; false: the
 * caller has enough. */
static bool
report_matching_symbol(const struct elf_file *loaded, struct reader *r,
                       const struct names *names,
                       const struct symbol_query *query)
{
    uint32_t at = reader_u32(r);
    uint8_t info = reader_u8(r);
    uint16_t section;
    uint64_t address;

    reader_u8(r); /* visibility */
    section = reader_u16(r);
    address = reader_u64(r);
    reader_u64(r); /* size */
    /* A debug file has the symbols, but the code is in the loaded file. */
    if (ELF64_ST_TYPE(info) != STT_FUNC || section == SHN_UNDEF ||
        !elf_is_code(loaded, address))
        return true;
    for (size_t i = 0; i < names->count; i++) {
        const struct name *name = &names->list[i];

        if (at >= name->start && at <= name->ending)
            return query->found(query->arg, name->text + (at - name->start),
                                address);
    }
    return true;
}

static void
find_in(const struct elf_file *elf, const struct table *table,
        struct locate_work *work, const struct symbol_query *query)
{
    enum { STEP = PIECE_BYTES / SYMBOL_SIZE * SYMBOL_SIZE };
    struct names names = {.count = 0};
    bool more = true;

    if (table->symbols_size / SYMBOL_SIZE > LOCATE_SYMBOLS_MAX ||
        table->names_size > LOCATE_NAMES_MAX)
        return;
    find_names(elf, table, work, query->ending, &names);
    if (names.count == 0)
        return;
    for (uint64_t done = 0; more && done < table->symbols_size; done += STEP) {
        uint64_t left = table->symbols_size - done;
        size_t n = left < STEP ? left : STEP;
        struct reader r = reader_of(work->piece, n);

        if (elf_read_at(elf, table->symbols + done, n, work->piece) != 0)
            return;
        while (more && reader_left(&r) >= SYMBOL_SIZE)
            more = report_matching_symbol(work->elf, &r, &names, query);
    }
}

static uint32_t
read_u32(const struct elf_file *elf, uint64_t offset)
{
    uint8_t bytes[4] = {0};
    struct reader r = reader_of(bytes, sizeof(bytes));

    elf_read_at(elf, offset, sizeof(bytes), bytes);
    return reader_u32(&r);
}

/* The number of dynamic symbols, which is nowhere written where there is only
 * DT_GNU_HASH: the end of the chain that begins last.  A bucket has the first
 * symbol of its chain; the lowest bit of a hash ends a chain. */
static uint64_t
count_hashed(const struct elf_file *elf, struct locate_work *work,
             uint64_t hash)
{
    uint64_t buckets = read_u32(elf, hash), first = read_u32(elf, hash + 4);
    uint64_t list = hash + 16 + (uint64_t)read_u32(elf, hash + 8) * 8;
    uint64_t last = 0, n;

    if (buckets > HASHED_MAX)
        return 0;
    for (uint64_t done = 0; done < buckets; done += n) {
        struct reader r;

        n = buckets - done < PIECE_BYTES / 4 ? buckets - done : PIECE_BYTES / 4;
        if (elf_read_at(elf, list + done * 4, n * 4, work->piece) != 0)
            return 0;
        r = reader_of(work->piece, n * 4);
        while (reader_left(&r) > 0) {
            uint32_t symbol = reader_u32(&r);

            last = symbol > last ? symbol : last;
        }
    }
    if (last < first)
        return first;
    list += (buckets + last - first) * 4;
    for (uint64_t i = 0; i < CHAIN_MAX; i++) {
        if (read_u32(elf, list + i * 4) & 1)
            return last + i + 1;
    }
    return 0;
}

static void
find_dynamic(const struct elf_file *elf, struct locate_work *work,
             const struct symbol_query *query)
{
    uint64_t value[DT_NUM] = {0}, gnu_hash = 0, tag, number, hash, left;
    struct table table = {0};
    struct buffer bytes;
    struct reader r;

    buffer_init(&bytes, ELF_DYNAMIC_MAX);
    if (elf_dynamic(elf, &bytes) == 0) {
        r = reader_of(bytes.data, bytes.size);
        while (elf_dynamic_next(&r, &tag, &number)) {
            if (tag < DT_NUM)
                value[tag] = number;
            else if (tag == DT_GNU_HASH)
                gnu_hash = number;
        }
    }
    buffer_fini(&bytes);
    if (!elf_offset_of(elf, value[DT_STRTAB], &table.names, &left) ||
        value[DT_STRSZ] > left ||
        !elf_offset_of(elf, value[DT_SYMTAB], &table.symbols, &left))
        return;
    table.names_size = value[DT_STRSZ];
    if (gnu_hash && elf_offset_of(elf, gnu_hash, &hash, &number))
        number = count_hashed(elf, work, hash);
    else if (elf_offset_of(elf, value[DT_HASH], &hash, &number))
        number = read_u32(elf, hash + 4);
    else
        return;
    table.symbols_size = number <= left / SYMBOL_SIZE
                             ? number * SYMBOL_SIZE
                             : left / SYMBOL_SIZE * SYMBOL_SIZE;
    find_in(elf, &table, work, query);
}

static void
find_symtab(const struct elf_file *elf, struct locate_work *work,
            const struct symbol_query *query)
{
    const struct elf_section *symbols = elf_section(elf, ".symtab"), *names;

    if (!symbols || symbols->type != SHT_SYMTAB ||
        symbols->link >= elf->section_count)
        return;
    names = &elf->sections[symbols->link];
    find_in(elf,
            &(struct table){symbols->offset, symbols->size, names->offset,
                            names->size},
            work, query);
}

/* The debug file has the same addresses as the program if the build-ids are
 * equal; without a build-id that cannot be known, and it is not used. */
static void
use_debug_file(const struct elf_file *elf, const char *path,
               bool (*use)(void *arg, const struct symbol_source *source),
               void *arg)
{
    struct elf_file debug = {.fd = -1};
    struct error ignored;
    char name[PATH_MAX];
    int fd = -1;

    if (elf->build_id_size > 0 && debug_split_find(elf, path, name) && name[0])
        fd = file_open_regular(name);
    if (fd >= 0 && elf_init(&debug, fd, name, &ignored) == 0 &&
        debug.build_id_size == elf->build_id_size &&
        memcmp(debug.build_id, elf->build_id, elf->build_id_size) == 0 &&
        elf_load_sections(&debug, &ignored) == 0)
        use(arg, &(struct symbol_source){LOCATE_DEBUG, &debug, find_symtab});
    elf_fini(&debug);
    fd_close(fd);
}

void
locate_symbols(struct elf_file *elf, const char *path,
               bool (*use)(void *arg, const struct symbol_source *source),
               void *arg)
{
    struct error ignored;

    if (!use(arg, &(struct symbol_source){LOCATE_EXPORTED, elf, find_dynamic}))
        return;
    if (elf_load_sections(elf, &ignored) == 0 &&
        use(arg, &(struct symbol_source){LOCATE_SYMTAB, elf, find_symtab}) &&
        path)
        use_debug_file(elf, path, use, arg);
}
