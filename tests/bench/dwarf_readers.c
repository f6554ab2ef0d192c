/*
 * dwarf_readers.c - what functions and lines of addresses cost by three readers
 * of DWARF: ours, libdw and libbfd.
 *
 *     dwarf_readers FILE [ADDRESSES]
 *
 * Asks for so many addresses of .text, with the functions inlined there, in a
 * process per reader: once cold, once warm.  Milliseconds are of processor
 * time, without demangling; ours has one thread, as the others.  Then it counts
 * the addresses where another's answer is not ours.
 */
#define dwarf_get_units libdw_get_units /* ours has that name, too */
#include <elfutils/libdw.h>
#undef dwarf_get_units
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bfd_names.h"
#include "dwarf.h"
#include "dwarf_reader.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"

enum { ADDRESSES = 1000, SHOWN = 3 };

struct asked {
    const char *path;
    int fd;
    uint64_t *addresses;
    uint32_t count;
};

/* Answers are a line per address: a frame is "function@file:line;". */
static void
put_frame(FILE *out, const char *function, size_t function_size,
          const char *file, size_t file_size, uint32_t line)
{
    const char *slash = file ? memrchr(file, '/', file_size) : NULL;

    if (slash)
        file_size -= (size_t)(slash + 1 - file);
    fprintf(out, "%.*s@%.*s:%u;", (int)function_size, function, (int)file_size,
            slash  ? slash + 1
            : file ? file
                   : "",
            line);
}

static void
die(const char *what, const char *why)
{
    fprintf(stderr, "dwarf_readers: %s: %s\n", what, why);
    exit(1); /* NOLINT(concurrency-mt-unsafe): the only thread */
}

/* ---- ours ---- */

static void *
open_ours(const struct asked *asked)
{
    static const struct dwarf_options options = {.memory_bytes = (size_t)2
                                                                 << 30,
                                                 .threads = 1,
                                                 .lines = true,
                                                 .addresses_only = true};
    static struct elf_file elf;
    struct error err = {0};
    struct dwarf *dwarf;

    if (elf_init(&elf, asked->fd, asked->path, &err) != 0 ||
        elf_load_sections(&elf, &err) != 0)
        die(asked->path, err.text);
    dwarf = dwarf_new(&elf, &options, &err);
    if (!dwarf)
        die(asked->path, err.text);
    return dwarf;
}

static void
ask_ours(void *reader, const struct asked *asked, FILE *out)
{
    struct error err = {0};
    struct code_chain chain;

    if (dwarf_resolve(reader, asked->addresses, asked->count, &err) != 0)
        die(asked->path, err.text);
    for (uint32_t i = 0; i < asked->count; i++) {
        if (dwarf_chain_at(reader, i, &chain) == DWARF_KNOWN)
            for (uint32_t k = 0; k < chain.count; k++) {
                const struct code_frame *f = &chain.frames[k];

                put_frame(out, f->name.data, f->name.size, f->file.data,
                          f->file.size, f->line);
            }
        fputc('\n', out);
    }
}

/* ---- libbfd ---- */

static void *
open_libbfd(const struct asked *asked)
{
    struct error err = {0};
    struct bfd_names *names = bfd_names_new(asked->fd, asked->path, &err);

    if (!names)
        die(asked->path, err.text);
    return names;
}

static void
ask_libbfd(void *reader, const struct asked *asked, FILE *out)
{
    static struct bfd_chain chain;

    for (uint32_t i = 0; i < asked->count; i++) {
        if (bfd_names_ask(reader, asked->addresses[i], &chain) != 0)
            die(asked->path, "no memory");
        for (uint32_t k = 0; k < chain.count; k++) {
            const char *name = chain.frames[k].function;

            put_frame(out, name ? name : "", name ? strlen(name) : 0,
                      chain.frames[k].file, strlen(chain.frames[k].file),
                      chain.frames[k].line);
        }
        fputc('\n', out);
    }
}

/* ---- libdw, as eu-addr2line uses it ---- */

static void *
open_libdw(const struct asked *asked)
{
    Dwarf *dwarf = dwarf_begin(asked->fd, DWARF_C_READ);

    if (!dwarf)
        die(asked->path, dwarf_errmsg(-1));
    return dwarf;
}

static const char *
libdw_name(Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(
        dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));

    if (!name)
        name = dwarf_diename(function);
    return name ? name : "";
}

/* Where it was inlined. */
static const char *
libdw_call(Dwarf_Die *unit, Dwarf_Die *inlined, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0, file = 0;
    Dwarf_Files *files;
    size_t count;

    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number);
    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file);
    *line = (int)number;
    return dwarf_getsrcfiles(unit, &files, &count) == 0
               ? dwarf_filesrc(files, file, NULL, NULL)
               : NULL;
}

static void
ask_libdw_once(Dwarf *dwarf, uint64_t address, FILE *out)
{
    Dwarf_Die unit, innermost, *scopes;
    const char *file = NULL;
    Dwarf_Line *row;
    int count, line = 0;

    if (!dwarf_addrdie(dwarf, address, &unit))
        return;
    row = dwarf_getsrc_die(&unit, address);
    if (row) {
        file = dwarf_linesrc(row, NULL, NULL);
        dwarf_lineno(row, &line);
    }
    count = dwarf_getscopes(&unit, address, &scopes);
    if (count <= 0)
        return;
    innermost = scopes[0];
    free(scopes);
    count = dwarf_getscopes_die(&innermost, &scopes);
    for (int i = 0; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = libdw_name(&scopes[i]);

        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            put_frame(out, name, strlen(name), file, file ? strlen(file) : 0,
                      (uint32_t)line);
        if (tag == DW_TAG_subprogram)
            break;
        if (tag == DW_TAG_inlined_subroutine)
            file = libdw_call(&unit, &scopes[i], &line);
    }
    if (count > 0)
        free(scopes);
}

static void
ask_libdw(void *reader, const struct asked *asked, FILE *out)
{
    for (uint32_t i = 0; i < asked->count; i++) {
        ask_libdw_once(reader, asked->addresses[i], out);
        fputc('\n', out);
    }
}

/* ---- all ---- */

static const struct {
    const char *name;
    void *(*open)(const struct asked *asked);
    void (*ask)(void *reader, const struct asked *asked, FILE *out);
} readers[] = {
    {"ours", open_ours, ask_ours},
    {"libdw", open_libdw, ask_libdw},
    {"libbfd", open_libbfd, ask_libbfd},
};

enum { READERS = sizeof(readers) / sizeof(readers[0]) };

static double
cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* In a process of its own. */
static void
measure_reader(int which, const struct asked *asked, FILE *out)
{
    double start = cpu_ms(), cold;
    void *reader = readers[which].open(asked);
    FILE *nowhere = fopen("/dev/null", "we");
    struct rusage usage;

    readers[which].ask(reader, asked, out);
    cold = cpu_ms();
    readers[which].ask(reader, asked, nowhere);
    getrusage(RUSAGE_SELF, &usage);
    printf("%-8s %9.1f %9.1f %7ld", readers[which].name, cold - start,
           cpu_ms() - cold, usage.ru_maxrss >> 10);
    fflush(NULL);
}

/* The frames of an answer. */
static unsigned
answer_depth(const char *answer)
{
    unsigned depth = 0;

    for (; *answer; answer++)
        depth += *answer == ';';
    return depth;
}

/* Whether files and lines are the same in all frames. */
static bool
same_places(const char *a, const char *b)
{
    while (*a && *b && *a != '\n' && *b != '\n') {
        size_t size;

        a += strcspn(a, "@\n");
        b += strcspn(b, "@\n");
        size = strcspn(a, ";\n");
        if (size != strcspn(b, ";\n") || memcmp(a, b, size) != 0)
            return false;
        a += size + (a[size] == ';');
        b += size + (b[size] == ';');
    }
    return true;
}

static void
compare_answers(FILE *ours, FILE *theirs, const struct asked *asked)
{
    static char *a, *b;
    static size_t a_size, b_size;
    unsigned depth = 0, places = 0, names = 0, shown = 0;

    rewind(ours);
    rewind(theirs);
    for (uint32_t i = 0; i < asked->count; i++) {
        if (getline(&a, &a_size, ours) < 0 || getline(&b, &b_size, theirs) < 0)
            die(asked->path, "answers are missing");
        if (*a == '@' || *a == '\n')
            continue; /* padding between functions */
        if (answer_depth(a) != answer_depth(b))
            depth++;
        else if (!same_places(a, b))
            places++;
        else if (strcmp(a, b) != 0)
            names++;
        else
            continue;
        if (getenv("SHOW") && shown++ < SHOWN) /* NOLINT: the only thread */
            fprintf(stderr, "%" PRIx64 " ours   %s     theirs %s",
                    asked->addresses[i], a, b);
    }
    printf("%8u %8u %8u\n", depth, places, names);
}

static void
choose_addresses(struct asked *asked)
{
    struct error err = {0};
    const struct elf_section *text;
    struct elf_file elf;
    uint64_t step;

    if (elf_init(&elf, asked->fd, asked->path, &err) != 0 ||
        elf_load_sections(&elf, &err) != 0)
        die(asked->path, err.text);
    text = elf_section(&elf, ".text");
    if (!text || text->size < asked->count || asked->count == 0)
        die(asked->path, "too little code");
    asked->addresses = calloc(asked->count, sizeof(*asked->addresses));
    step = text->size / asked->count;
    for (uint32_t i = 0; i < asked->count; i++)
        asked->addresses[i] =
            text->address + step * i + i % (step < 13 ? step : 13);
    elf_fini(&elf);
}

int
main(int argc, char **argv)
{
    struct asked asked = {.fd = -1, .count = ADDRESSES};
    FILE *answers[READERS];
    int status;

    if (argc > 1)
        asked.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (asked.fd < 0) {
        fprintf(stderr, "usage: dwarf_readers FILE [ADDRESSES]\n");
        return 64;
    }
    asked.path = argv[1];
    if (argc > 2)
        asked.count = (uint32_t)strtoul(argv[2], NULL, 10);
    choose_addresses(&asked);
    printf("%s: %u addresses\n"
           "          cold ms   warm ms      MB   unlike ours in: depth, else "
           "file or line, else names\n",
           asked.path, asked.count);
    for (int i = 0; i < READERS; i++) {
        answers[i] = fdopen(memfd_create("answers", MFD_CLOEXEC), "w+");
        fflush(NULL);
        if (fork() == 0) {
            measure_reader(i, &asked, answers[i]);
            _exit(0);
        }
        if (wait(&status) < 0 || status != 0)
            die(readers[i].name, "it failed");
        if (i > 0)
            compare_answers(answers[0], answers[i], &asked);
        else
            printf("\n");
    }
    free(asked.addresses);
    return 0;
}
