/*
 * index_bench.c - what the symbol index of a program costs: index_bench PROGRAM
 * [ADDRESSES [MEGABYTES]], of memory while it is made.
 *
 * Makes it, in memory, asks it for so many addresses of .text in their
 * order, cold and warm, and compares each chain with what DWARF itself says.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dwarf.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "symbol_index.h"
#include "object_symbols.h"

enum { ADDRESSES = 6400, STEP = 16, DIFFERENCES_SHOWN = 5 };

struct state {
    struct elf_file elf;
    struct symbol_table *symbols;
    struct dwarf *dwarf;
    char *readable, *symbol;
    int out;
};

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
die(const char *what, const struct error *err)
{
    fprintf(stderr, "index_bench: %s: %s\n", what, err->text);
    exit(1); /* NOLINT(concurrency-mt-unsafe): the only thread */
}

static char *
demangled(struct span name)
{
    char *text = strndup(name.data, name.size);
    char *readable = cplus_demangle(text, DMGL_ANSI | DMGL_PARAMS);

    if (!readable)
        return text;
    free(text);
    return readable;
}

static const char *
readable(void *arg, struct span name)
{
    struct state *s = arg;

    free(s->readable);
    s->readable = demangled(name);
    return s->readable;
}

static void
symbol_at(void *arg, uint64_t address, struct span outermost,
          struct index_symbol *out)
{
    struct state *s = arg;
    const struct symbol *found = symbol_table_holding(s->symbols, address);

    (void)outermost;
    free(s->symbol);
    s->symbol = NULL;
    out->end = address + STEP;
    if (!found)
        return;
    s->symbol = demangled((struct span){found->name, strlen(found->name)});
    out->start = found->start;
    out->end = found->start + found->size;
    out->name = (struct span){s->symbol, strlen(s->symbol)};
}

static int
write_bytes(void *arg, const void *data, size_t size, struct error *err)
{
    struct state *s = arg;

    if (fd_write_all(s->out, data, size) == 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot write the index");
    return -1;
}

static bool
same_text(struct span a, struct span b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static bool
same_chain(const struct code_chain *a, const struct code_chain *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct code_frame *x = &a->frames[i], *y = &b->frames[i];
        char *name = x->linkage ? demangled(x->name) : NULL;
        struct span shown = x->name;
        bool same;

        if (name)
            shown = (struct span){name, strlen(name)};
        same = same_text(shown, y->name) && x->linkage == y->linkage &&
               x->inlined == y->inlined && same_text(x->file, y->file) &&
               x->line == y->line;
        free(name);
        if (!same)
            return false;
    }
    return true;
}

static void
show(const char *who, uint64_t address, const struct code_chain *chain)
{
    printf("  %s %" PRIx64 ":", who, address);
    for (uint32_t i = 0; i < chain->count; i++)
        printf(" %.*s %.*s:%u;", (int)chain->frames[i].name.size,
               chain->frames[i].name.data, (int)chain->frames[i].file.size,
               chain->frames[i].file.data, chain->frames[i].line);
    printf("\n");
}

static void
compare(struct state *s, struct symbol_index *index, const uint64_t *addresses,
        uint32_t count)
{
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = count};
    uint32_t unlike = 0, left_out = 0, unknown = 0;
    struct error err = {0};

    if (symbol_index_look_up(index, &question) != 0)
        die("look-up", &err);
    if (dwarf_resolve(s->dwarf, addresses, count, &err) != 0)
        die("DWARF", &err);
    for (uint32_t i = 0; i < count; i++) {
        struct code_chain ours, theirs;
        struct index_symbol symbol;
        bool said =
            symbol_index_answer(index, i, &ours, &symbol) == INDEX_KNOWN;

        if (dwarf_chain_at(s->dwarf, i, &theirs) != DWARF_KNOWN) {
            unknown++;
            left_out += !said;
        } else if (!said || !same_chain(&theirs, &ours)) {
            if (unlike++ < DIFFERENCES_SHOWN) {
                show("DWARF", addresses[i], &theirs);
                show("index", addresses[i], &ours);
            }
        }
    }
    printf("%u addresses: %u unlike DWARF's, %u unknown to it, of which %u "
           "left out\n",
           count, unlike, unknown, left_out);
}

/* symbol_index_question.text */
static int
take_text(void *arg, struct span text, enum symbol_index_use use,
          uint32_t *number)
{
    uint32_t *count = arg;

    (void)text;
    (void)use;
    *number = ++*count;
    return 0;
}

static double
ask_all(struct symbol_index *index, const uint64_t *addresses, uint32_t count)
{
    uint32_t texts = 0;
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = count,
                                             .text = take_text,
                                             .arg = &texts};
    struct error err = {0};
    double start = now_ms();

    if (symbol_index_look_up(index, &question) != 0)
        die("look-up", &err);
    for (uint32_t i = 0; i < count; i++) {
        struct index_symbol symbol;
        struct code_chain chain;

        symbol_index_answer(index, i, &chain, &symbol);
    }
    return now_ms() - start;
}

static uint64_t
debug_bytes(const struct elf_file *elf)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < elf->section_count; i++)
        if (strncmp(elf->sections[i].name, ".debug_", 7) == 0)
            sum += elf->sections[i].size;
    return sum;
}

static void
measure(struct state *s, uint32_t count)
{
    const struct elf_section *text = elf_section(&s->elf, ".text");
    uint64_t *addresses = calloc(count, sizeof(*addresses));
    struct symbol_index *index;
    struct error err;
    double start, opened;
    uint64_t step;

    if (count == 0 || count > text->size)
        count = (uint32_t)text->size;
    step = text->size / count;
    for (uint32_t i = 0; i < count; i++)
        addresses[i] = text->address + step * i + i % (step < 13 ? step : 13);
    for (int i = 0; i < 3; i++) {
        start = now_ms();
        index = symbol_index_open(s->out, s->elf.build_id, s->elf.build_id_size,
                                  &err);
        if (!index)
            die("open", &err);
        opened = now_ms() - start;
        printf("open %.2f ms, %u addresses cold %.2f ms", opened, count,
               ask_all(index, addresses, count));
        printf(", warm %.2f ms\n", ask_all(index, addresses, count));
        if (i < 2)
            symbol_index_close(index);
    }
    compare(s, index, addresses, count);
    symbol_index_close(index);
    free(addresses);
}

int
main(int argc, char **argv)
{
    struct dwarf_options options = {.memory_bytes = (size_t)2 << 30,
                                    .lines = true};
    struct state s = {.out = -1};
    struct stat made;
    struct error err = {0};
    int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    double start = now_ms();

    if (fd < 0) {
        fprintf(stderr, "usage: index_bench PROGRAM [ADDRESSES [MEGABYTES]]\n");
        return 64;
    }
    s.out = memfd_create("index", MFD_CLOEXEC);
    if (argc > 3)
        options.memory_bytes = (size_t)strtoul(argv[3], NULL, 10) << 20;
    if (elf_init(&s.elf, fd, argv[1], &err) != 0 ||
        elf_load_sections(&s.elf, &err) != 0)
        die(argv[1], &err);
    s.symbols = symbol_table_new(&s.elf, false, &err);
    s.dwarf = dwarf_new(&s.elf, &options, &err);
    if (!s.symbols || !s.dwarf)
        die(argv[1], &err);
    if (symbol_index_write(&(struct symbol_index_source){&s.elf, s.dwarf,
                                                         symbol_at, readable,
                                                         write_bytes, &s},
                           &err) != 0 ||
        fstat(s.out, &made) != 0)
        die("write", &err);
    printf(
        "%jd bytes in %.0f ms, %.2f %% of %" PRIu64
        " bytes of debug sections, %zu MB of memory\n",
        (intmax_t)made.st_size, now_ms() - start,
        100.0 * (double)made.st_size / (double)debug_bytes(&s.elf),
        debug_bytes(&s.elf),
        dwarf_budget_peak(dwarf_sections_budget(dwarf_get_sections(s.dwarf))) >>
            20);
    measure(&s, argc > 2 ? (uint32_t)atoi(argv[2]) : ADDRESSES);
    dwarf_free(s.dwarf);
    symbol_table_free(s.symbols);
    elf_fini(&s.elf);
    free(s.readable);
    free(s.symbol);
    fd_close(s.out);
    fd_close(fd);
    return 0;
}
