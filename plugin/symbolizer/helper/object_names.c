/*
 * object_names.c - see object_names.h.
 *
 * Addresses are answered one by one and in order, so that the client has the
 * first ones if the helper dies later; but the index and DWARF are asked about
 * all of them at once, as reading goes unit by unit: the index before the first
 * answer, DWARF when the first address without an answer comes.  Each unknown
 * address falls to the next source, and the reasons are counted for the
 * complaint.  One request, on the helper's main thread; the sources start
 * threads of their own.
 */
#include "object_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr2line_names.h"
#include "bfd_names.h"
#include "errors.h"
#include "memory.h"
#include "object_index.h"
#include "object_sources.h"
#include "object_symbols.h"
#include "search.h"
#include "symbol_index.h"

static const size_t readable_bytes_max = (size_t)512 << 20;

struct object_names {
    struct object_sources from;
    struct symbol_index *index; /* NULL: none */
    struct readable_names *readables;
    struct addr2line_names *names;
    struct bfd_chain bfd_chain;

    uint64_t *addresses; /* addresses that DWARF was asked about: ascending,
                          * distinct */
    uint32_t address_count;
    size_t why[DWARF_WHY_COUNT]; /* numbers of addresses without an answer, by
                                  * reason */
    size_t damaged;              /* addresses in damaged blocks of the index */
    char useless[OBJECT_TROUBLE_MAX]; /* why the whole index is unusable; "" */

    struct frame frames[NAMES_INLINE_MAX];
    struct addr2line_numbers numbers[NAMES_INLINE_MAX];
    struct object_answer answer;
};

static const struct span no_text = {"", 0};

static struct span
span_of_optional_text(const char *text)
{
    return text ? (struct span){text, strlen(text)} : no_text;
}

/* Opens the index unless it is unusable.  Debug information, or more symbols,
 * may have been added after an index with symbols only was made: it must not
 * hide them. */
static void
open_usable_index(struct object_names *object, int fd)
{
    struct object_sources *from = &object->from;
    const char *path, *there = NULL;
    struct error why = {0};

    object->index = symbol_index_open(fd, from->elf.build_id,
                                      from->elf.build_id_size, &why);
    if (object->index && symbol_index_symbols_only(object->index)) {
        if (debug_file_dwarf(&from->debug, &path))
            there = "debug information";
        else if (debug_file_symbols(&from->debug))
            there = "a debug file with symbols";
    }
    if (object->index && !there)
        return;
    if (there)
        error_set(&why, ER_UNKNOWN,
                  "its symbol index is unusable: it has symbols only, and "
                  "there is %s",
                  there);
    symbol_index_close(object->index);
    object->index = NULL;
    snprintf(object->useless, sizeof(object->useless), "%s", why.text);
}

static int
make_names(struct object_names *object, struct error *err)
{
    struct addr2line_reader reader = {.readable = readable_names_get};

    reader.arg = object->readables = readable_names_new(readable_bytes_max);
    if (!object->readables) {
        error_memory(err, "names");
        return -1;
    }
    object->names = addr2line_names_new(&reader, err);
    return object->names ? 0 : -1;
}

struct object_names *
object_names_new(const struct object_request *request, struct error *err)
{
    struct object_names *object = mem_zalloc(1, sizeof(*object));

    if (!object) {
        error_memory(err, "an object");
        return NULL;
    }
    if (object_sources_init(&object->from, request, err) != 0)
        goto fail;
    if (make_names(object, err) != 0)
        goto fail;
    if (request->index_fd >= 0)
        open_usable_index(object, request->index_fd);
    return object;
fail:
    object_names_free(object);
    return NULL;
}

void
object_names_free(struct object_names *object)
{
    if (!object)
        return;
    symbol_index_close(object->index);
    addr2line_names_free(object->names);
    readable_names_free(object->readables);
    object_sources_fini(&object->from);
    mem_free(object->addresses);
    mem_free(object);
}

/* ---- an answer ---- */

/* Completes the answer with the symbol at its address, from the file or the
 * index. */
static int
finish_object_answer(struct object_names *object,
                     const struct addr2line_name *symbol, uint64_t start)
{
    struct object_answer *answer = &object->answer;

    answer->symbol = addr2line_names_readable(object->names, symbol);
    answer->symbol_number = symbol->number;
    answer->start = start;
    answer->frames = object->frames;
    answer->numbers = object->numbers;
    return answer->symbol ? 0 : -1;
}

/* Completes the answer with the file's symbol; the outermost function that is
 * printed decides among its aliases. */
static int
finish_at(struct object_names *object, uint64_t address, struct span outermost)
{
    const struct symbol *symbol =
        object_symbols_at(object->from.symbols, address, outermost);
    const struct addr2line_name name = {
        .text = span_of_optional_text(symbol ? symbol->name : NULL)};

    return finish_object_answer(
        object, &name,
        symbol ? symbol->start
               : object_symbols_start(object->from.symbols, address));
}

/* The symbol is looked up twice: without a name for functions that DWARF leaves
 * nameless, then by the name that is printed, which may be an alias of the
 * first. */
static int
answer_by_chain(struct object_names *object, uint64_t address,
                const struct code_chain *chain)
{
    const struct object_symbols *symbols =
        object_sources_symbols(&object->from);
    const struct code_frame *outermost;
    const struct symbol *symbol;
    struct addr2line_name holder = {.text = no_text};
    struct span printed = no_text;

    if (!symbols)
        return -1;
    symbol = object_symbols_at(symbols, address, no_text);
    if (symbol)
        holder.text = span_of_optional_text(symbol->name);
    if (addr2line_names_frames(object->names, chain, &holder, object->frames,
                               object->numbers,
                               &object->answer.frame_count) != 0)
        return -1;
    outermost = chain->count ? &chain->frames[chain->count - 1] : NULL;
    if (outermost &&
        (outermost->linkage ||
         span_is(outermost->name,
                 object->frames[object->answer.frame_count - 1].function)))
        printed = outermost->name;
    return finish_at(object, address, printed);
}

/* Answers by libbfd, which guesses: its first answer may be the nearest symbol,
 * or the symbol around inlined code, in place of a function's own name; asked
 * again, it answers by DWARF alone. */
static int
answer_by_bfd(struct object_names *object, uint64_t address)
{
    const struct object_symbols *symbols =
        object_sources_symbols(&object->from);
    struct code_frame frames[NAMES_INLINE_MAX];
    struct bfd_chain *found = &object->bfd_chain;
    struct code_chain chain = {frames, 0};
    const char *first = NULL; /* the first answer's name; its text outlives the
                               * second question */
    bool guessed = false;

    if (!symbols)
        return -1;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (bfd_names_ask(object->from.bfd, address, found) != 0)
            return -1;
        guessed = found->count == 1 &&
                  object_symbols_guessed(
                      symbols, address,
                      span_of_optional_text(found->frames[0].function));
        if (!guessed && found->count <= 1)
            break;
        if (attempt == 0)
            first = found->frames[0].function;
        else if (!guessed && !found->frames[0].function)
            found->frames[0].function = first;
    }
    for (uint32_t i = 0; i < found->count; i++) {
        const struct frame *frame = &found->frames[i];

        frames[i] = (struct code_frame){
            .name = guessed ? no_text : span_of_optional_text(frame->function),
            .linkage = true, /* libbfd has demangled it, or chosen the symbol */
            .inlined = i + 1 < found->count,
            .file = span_of_optional_text(frame->file),
            .line = frame->line};
    }
    chain.count = found->count;
    return answer_by_chain(object, address, &chain);
}

/* ---- the index ---- */

/* Asks the index about all addresses.  -1 without memory, or text's result. */
static int
look_up_index_names(struct object_names *object, const uint64_t *offsets,
                    uint32_t count, const struct object_taker *taker)
{
    uint64_t *addresses = mem_zalloc(count, sizeof(*addresses));
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = count,
                                             .no_lines = object->from.no_lines,
                                             .text = taker->text,
                                             .arg = taker->arg};
    int rc = -1;

    if (!addresses)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        (void)elf_address_of(&object->from.elf, offsets[i], &addresses[i]);
    rc = symbol_index_look_up(object->index, &question);
    mem_free(addresses);
    return rc;
}

/* 1: answered; 0: unknown; -1: no memory. */
static int
answer_by_index(struct object_names *object, uint32_t i, uint64_t address)
{
    struct code_chain chain;
    struct index_symbol symbol;
    struct addr2line_name holder;
    enum symbol_index_answer how;

    if (!object->index)
        return 0;
    how = symbol_index_answer(object->index, i, &chain, &symbol);
    if (how != INDEX_KNOWN) {
        object->damaged += how == INDEX_DAMAGED;
        return 0;
    }
    holder = (struct addr2line_name){symbol.name, true, true, symbol.number};
    if (addr2line_names_frames(object->names, &chain, &holder, object->frames,
                               object->numbers,
                               &object->answer.frame_count) != 0)
        return -1;
    /* The index knows neither symbol nor function. */
    if (symbol.name.size == 0 && symbol.start == 0 &&
        object_sources_start(&object->from, address, &symbol.start) != 0)
        return -1;
    return finish_object_answer(object, &holder, symbol.start) == 0 ? 1 : -1;
}

static bool
index_leaves_out(struct object_names *object, uint32_t i)
{
    struct code_chain chain;
    struct index_symbol symbol;

    return !object->index || symbol_index_answer(object->index, i, &chain,
                                                 &symbol) != INDEX_KNOWN;
}

/* ---- DWARF ---- */

/* Sorts addresses and drops equal ones: offsets ascend, but segments may have
 * another order in memory than in the file. */
static uint32_t
sort_distinct(uint64_t *list, uint32_t count)
{
    uint32_t kept = 0;

    if (count > 0)
        qsort(list, count, sizeof(*list), compare_u64);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

static int
prepare_names(struct object_names *object)
{
    struct code_chain chain;

    for (uint32_t i = 0; i < object->address_count; i++)
        if (dwarf_chain_at(object->from.dwarf, i, &chain) == DWARF_KNOWN &&
            readable_names_expect(object->readables, &chain) != 0)
            return -1;
    readable_names_make(object->readables);
    return 0;
}

/* Asks DWARF about all addresses from first on that the index leaves out.  -1
 * without memory. */
static int
resolve_dwarf_names(struct object_names *object, const uint64_t *offsets,
                    uint32_t first, uint32_t count)
{
    struct error err = {0};
    uint64_t address;
    uint32_t n = 0;

    object_sources_dwarf(&object->from, false, &err);
    if (!object->from.dwarf)
        return 0;
    object->addresses = mem_zalloc(count - first, sizeof(*object->addresses));
    if (!object->addresses)
        return -1;
    for (uint32_t i = first; i < count; i++)
        if (elf_address_of(&object->from.elf, offsets[i], &address) &&
            index_leaves_out(object, i))
            object->addresses[n++] = address;
    n = sort_distinct(object->addresses, n);
    if (dwarf_resolve(object->from.dwarf, object->addresses, n, &err) != 0)
        return err.code == ER_OUT_OF_MEMORY ? -1 : 0;
    object->address_count = n;
    return prepare_names(object);
}

/* The DWARF reader's answer for address; DWARF_DAMAGED: it could not be
 * asked. */
static enum dwarf_why
read_chain(struct object_names *object, uint64_t address,
           struct code_chain *chain)
{
    const uint64_t *found = NULL;

    if (object->address_count > 0)
        found = bsearch(&address, object->addresses, object->address_count,
                        sizeof(address), compare_u64);
    if (!found)
        return object->from.over_budget ? DWARF_OVER_BUDGET : DWARF_DAMAGED;
    return dwarf_chain_at(object->from.dwarf,
                          (uint32_t)(found - object->addresses), chain);
}

/* Answers by DWARF, by libbfd for units that our reader does not know, or else
 * by symbols. */
static int
answer_by_dwarf(struct object_names *object, uint64_t address)
{
    struct code_chain chain = {NULL, 0};
    enum dwarf_why why = DWARF_KNOWN;
    const char *path;

    if (!object->from.symbols_only &&
        debug_file_dwarf(&object->from.debug, &path))
        why = read_chain(object, address, &chain);
    if (why == DWARF_KNOWN)
        return answer_by_chain(object, address, &chain);
    object->why[why]++;
    /* libbfd would need more memory than our reader, not less */
    if (why != DWARF_OVER_BUDGET && object_sources_bfd(&object->from))
        return answer_by_bfd(object, address);
    chain.count = 0;
    return answer_by_chain(object, address, &chain);
}

int
object_names_ask(struct object_names *object, const uint64_t *offsets,
                 uint32_t count, const struct object_taker *taker)
{
    static const struct code_chain nothing = {NULL, 0};
    bool resolved = false;
    uint64_t address;
    int rc;

    if (object->index &&
        look_up_index_names(object, offsets, count, taker) != 0)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        if (!elf_address_of(&object->from.elf, offsets[i], &address)) {
            /* no segment loads it: the symbol at that number is a guess, but an
             * answer is due */
            rc = answer_by_chain(object, offsets[i], &nothing);
        } else {
            rc = answer_by_index(object, i, address);
            /* only now: with a good index DWARF is never opened */
            if (rc == 0 && !resolved)
                rc = resolve_dwarf_names(object, offsets, i, count);
            if (rc == 0) {
                resolved = true;
                rc = answer_by_dwarf(object, address);
            }
        }
        if (rc < 0 || taker->answer(taker->arg, &object->answer) != 0)
            return -1;
    }
    return 0;
}

/* An index of symbols only hides nothing, but is worth little: it is made only
 * if the client asks for one. */
int
object_names_index(struct object_names *object, const struct index_sink *sink,
                   struct error *err)
{
    static const char bare[] = "it has no debug information, and no split "
                               "debug file with it is found";
    const struct object_symbols *symbols;
    const char *path;
    bool debug;

    if (object->from.elf.build_id_size == 0) {
        error_set(err, ER_UNKNOWN, "it has no build-id");
        return -1;
    }
    debug = debug_file_dwarf(&object->from.debug, &path);
    if (!debug && !sink->symbols_only) {
        error_set(err, ER_UNKNOWN, "%s", bare);
        return -1;
    }
    symbols = object_sources_symbols(&object->from);
    if (!symbols) {
        error_memory(err, "its symbols");
        return -1;
    }
    if (debug) {
        object_sources_dwarf(&object->from, true, err);
        if (!object->from.dwarf)
            return -1;
    } else if (!object_symbols_any(symbols)) {
        error_set(err, ER_UNKNOWN, "%s, and no symbols of its code", bare);
        return -1;
    } else {
        sink->symbols_only(sink->arg, bare);
    }
    return object_index_write(&object->from.elf, object->from.dwarf, symbols,
                              sink, err);
}

/* ---- complaints ---- */

const char *
object_names_refused(const struct object_names *object)
{
    if (object->useless[0])
        return object->useless;
    return object->damaged ? "blocks of its symbol index are damaged" : NULL;
}

static const struct {
    enum dwarf_why why;
    const char *what, *so;
} reasons[] = {
    {DWARF_SPLIT, "in units of split DWARF", "named by libbfd"},
    {DWARF_ALTERNATIVE, "in units that dwz shortened", "named by libbfd"},
    {DWARF_VERSION, "in units of an unknown version of DWARF",
     "named by libbfd"},
    {DWARF_DAMAGED, "in units of damaged DWARF", "named by libbfd"},
    {DWARF_OVER_BUDGET, "in units for whose DWARF there was no memory",
     "symbol names only"},
};

__attribute__((format(printf, 3, 4))) static void
append_object_note(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    if (used > 0 && used + 2 < size) {
        memcpy(out + used, "; ", 3);
        used += 2;
    }
    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

void
object_names_complaint(const struct object_names *object, char *out,
                       size_t size)
{
    const struct object_sources *from = &object->from;

    out[0] = '\0';
    if (from->trouble[0])
        append_object_note(out, size, "%s", from->trouble);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (object->why[reasons[i].why])
            append_object_note(out, size, "%zu addresses %s: %s",
                               object->why[reasons[i].why], reasons[i].what,
                               from->bfd || reasons[i].why == DWARF_OVER_BUDGET
                                   ? reasons[i].so
                                   : "symbol names only");
}
