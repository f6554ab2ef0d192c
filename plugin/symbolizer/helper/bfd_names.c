/*
 * bfd_names.c - see bfd_names.h.
 *
 * libbfd is the last resort: it knows split DWARF, dwz's alternative files and
 * whatever comes next, but reads all of an object's debug information, keeps
 * what it read, and has a history of memory errors with damaged files.  So it
 * is asked only about units that our own reader does not know, in a process
 * that may die of it (the helper, with limits).  It is not thread-safe.
 * Demangling (libiberty) is, and takes most of the time of a large C++ profile,
 * so it runs on several threads, each with its own arena.
 */
#include "bfd_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "addr2line_names.h"
#include "memory.h"
#include "texts.h"
#include "thread.h"

#define PACKAGE "heapwire" /* bfd.h requires it */

#include <bfd.h>
#include <libiberty/demangle.h>
#include <fcntl.h>
#include <stdio.h>

#include "errors.h"

/* Where distributions put split debug files. */
#define DEBUG_DIRECTORY "/usr/lib/debug"

struct bfd_names {
    bfd *object;
    asymbol **symbols; /* NULL: none */
};

struct section_search {
    uint64_t address;
    asection *found;
};

/* A file description of our own: libbfd reads by a shared position, which must
 * not move under other readers.  If the file cannot be opened again, a
 * duplicate of the one passed. */
static int
reopen_object_file(int fd)
{
    char name[sizeof("/proc/self/fd/") + 11];
    int own;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    own = open(name, O_RDONLY | O_CLOEXEC);
    return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Reads the symbols that addr2line would use: .symtab, or .dynsym if that is
 * empty. */
static asymbol **
read_bfd_symbols(bfd *object)
{
    asymbol **symbols = NULL;
    long size, count = 0;

    if ((bfd_get_file_flags(object) & HAS_SYMS) == 0)
        return NULL;
    size = bfd_get_symtab_upper_bound(object);
    if (size > 0) {
        symbols = mem_alloc((size_t)size);
        count = symbols ? bfd_canonicalize_symtab(object, symbols) : 0;
    }
    if (count > 0)
        return symbols;
    mem_free(symbols);
    size = bfd_get_dynamic_symtab_upper_bound(object);
    if (size <= 0)
        return NULL;
    symbols = mem_alloc((size_t)size);
    if (symbols && bfd_canonicalize_dynamic_symtab(object, symbols) > 0)
        return symbols;
    mem_free(symbols);
    return NULL;
}

static bfd *
open_bfd_object(int fd, const char *path)
{
    bfd *object;
    int own;

    bfd_init();
    own = reopen_object_file(fd);
    if (own < 0)
        return NULL;
    object = bfd_fdopenr(path, NULL, own); /* owns the descriptor, even on
                                            * failure */
    if (!object)
        return NULL;
    /* otherwise libbfd shows compressed sections as they are */
    object->flags |= BFD_DECOMPRESS;
    if (bfd_check_format(object, bfd_object))
        return object;
    bfd_close(object);
    return NULL;
}

char *
bfd_debug_file(int fd, const char *path)
{
    bfd *object = open_bfd_object(fd, path);
    char *found;

    if (!object)
        return NULL;
    found = bfd_follow_build_id_debuglink(object, DEBUG_DIRECTORY);
    if (!found)
        found = bfd_follow_gnu_debuglink(object, DEBUG_DIRECTORY);
    bfd_close(object);
    return found;
}

struct bfd_names *
bfd_names_new(int fd, const char *path, struct error *err)
{
    struct bfd_names *names = mem_zalloc(1, sizeof(*names));

    if (!names) {
        error_memory(err, "libbfd");
        return NULL;
    }
    names->object = open_bfd_object(fd, path);
    if (!names->object) {
        error_set(err, ER_UNKNOWN, "libbfd cannot read %s: %s", path,
                  bfd_errmsg(bfd_get_error()));
        bfd_names_free(names);
        return NULL;
    }
    names->symbols = read_bfd_symbols(names->object);
    return names;
}

void
bfd_names_free(struct bfd_names *names)
{
    if (!names)
        return;
    if (names->object)
        bfd_close(names->object);
    mem_free(names->symbols);
    mem_free(names);
}

static void
consider_section(bfd *object, asection *section, void *arg)
{
    struct section_search *search = arg;

    (void)object;
    /* bfd_find_nearest_line wants an offset in a section */
    if (!search->found && (bfd_section_flags(section) & SEC_ALLOC) &&
        search->address >= bfd_section_vma(section) &&
        search->address - bfd_section_vma(section) < bfd_section_size(section))
        search->found = section;
}

int
bfd_names_ask(struct bfd_names *names, uint64_t address,
              struct bfd_chain *chain)
{
    struct section_search search = {address, NULL};
    const char *file, *function;
    unsigned line;
    bool more;

    chain->count = 0;
    bfd_map_over_sections(names->object, consider_section, &search);
    if (!search.found)
        return 0;
    bfd_set_error(bfd_error_no_error);
    more = bfd_find_nearest_line(names->object, search.found, names->symbols,
                                 address - bfd_section_vma(search.found), &file,
                                 &function, &line);
    /* the innermost frames are kept */
    while (more && chain->count < NAMES_INLINE_MAX) {
        chain->frames[chain->count].function = function;
        chain->frames[chain->count].file = file ? file : "";
        chain->frames[chain->count].line = line;
        chain->count++;
        more = bfd_find_inliner_info(names->object, &file, &function, &line);
    }
    /* libbfd goes on without memory, and only the error tells */
    return bfd_get_error() == bfd_error_no_memory ? -1 : 0;
}

char *
bfd_names_readable(const char *symbol)
{
    /* "read@@GLIBC_2.2.5"; a name that begins with @ is kept */
    size_t size = strcspn(symbol, "@");
    char *plain = strndup(symbol, size ? size : strlen(symbol)), *readable;

    if (!plain)
        return NULL;
    readable = bfd_demangle(NULL, plain, DMGL_PARAMS | DMGL_ANSI);
    if (!readable)
        return plain;
    free(plain);
    return readable;
}

enum {
    FIRST_CAPACITY = 1024, /* powers of two */
    MAKERS_MAX = 16,
    MAKER_WORTH = 256, /* names that are worth another maker */
    STEP = 32,         /* names that a thread takes at once */
    /* As large as a main thread's: libiberty's recursion is bounded, but
     * deep. */
    STACK = 8 << 20
};

struct readable_names {
    size_t bytes_max;
    struct arena *arenas[MAKERS_MAX]; /* one for each thread; NULL: none yet */
    struct texts *texts;    /* the names as given; in the first arena */
    const char **readables; /* by text; NULL: not made yet */
    size_t capacity;
    uint32_t made; /* the number of expected names that are made */
};

struct readable_names *
readable_names_new(size_t bytes_max)
{
    struct readable_names *names = mem_zalloc(1, sizeof(*names));

    if (!names)
        return NULL;
    names->bytes_max = bytes_max;
    names->arenas[0] = arena_new(bytes_max);
    if (names->arenas[0])
        names->texts = texts_new(names->arenas[0]);
    names->capacity = FIRST_CAPACITY;
    names->readables = mem_zalloc(FIRST_CAPACITY, sizeof(*names->readables));
    if (names->texts && names->readables)
        return names;
    readable_names_free(names);
    return NULL;
}

void
readable_names_free(struct readable_names *names)
{
    if (!names)
        return;
    texts_free(names->texts);
    for (size_t i = 0; i < MAKERS_MAX; i++)
        arena_free(names->arenas[i]);
    mem_free(names->readables);
    mem_free(names);
}

/* Numbers a name, and makes an entry for it in readables. */
static int
intern_bfd_name(struct readable_names *names, struct span name,
                uint32_t *number)
{
    size_t room = names->capacity;
    const char **grown;

    if (texts_add(names->texts, name.data, name.size, number) != 0)
        return -1;
    while (*number >= room)
        room *= 2;
    if (room > names->capacity) {
        grown = mem_realloc(names->readables, room * sizeof(*grown));
        if (!grown)
            return -1;
        memset(grown + names->capacity, 0,
               (room - names->capacity) * sizeof(*grown));
        names->readables = grown;
        names->capacity = room;
    }
    return 0;
}

static const char *
make_readable_name(const struct readable_names *names, uint32_t number,
                   struct arena *arena)
{
    char *readable = bfd_names_readable(texts_get(names->texts, number));
    const char *kept = NULL;

    if (readable)
        kept = arena_strndup(arena, readable, strlen(readable));
    free(readable);
    return kept;
}

const char *
readable_names_get(void *arg, struct span name)
{
    struct readable_names *names = arg;
    uint32_t number;

    if (intern_bfd_name(names, name, &number) != 0)
        return NULL;
    if (!names->readables[number])
        names->readables[number] =
            make_readable_name(names, number, names->arenas[0]);
    return names->readables[number];
}

int
readable_names_expect(struct readable_names *names,
                      const struct code_chain *chain)
{
    uint32_t number;

    for (uint32_t i = 0; i < chain->count; i++) {
        const struct code_frame *frame = &chain->frames[i];

        if (frame->linkage && !frame->readable && frame->name.size > 0 &&
            intern_bfd_name(names, frame->name, &number) != 0)
            return -1;
    }
    return 0;
}

/* ---- several at a time ---- */

struct making {
    struct readable_names *names; /* only entries of readables change while
                                   * threads run */
    uint32_t end;
    atomic_uint next;
};

struct maker {
    struct making *making;
    struct arena *arena;
    pthread_t thread;
};

/* Runs in each maker's thread.  A name that fails stays NULL, and is tried
 * again when it is asked for. */
static void *
make_some(void *arg)
{
    const struct maker *maker = arg;
    struct making *making = maker->making;
    const char **readables = making->names->readables;
    uint32_t first, end;

    /* Relaxed: the names were complete before the threads started. */
    while ((first = atomic_fetch_add_explicit(
                &making->next, STEP, memory_order_relaxed)) < making->end) {
        end = making->end - first < STEP ? making->end : first + STEP;
        for (uint32_t i = first; i < end; i++)
            if (!readables[i])
                readables[i] =
                    make_readable_name(making->names, i, maker->arena);
    }
    return NULL;
}

static struct arena *
arena_of(struct readable_names *names, size_t i)
{
    if (!names->arenas[i])
        names->arenas[i] = arena_new(names->bytes_max);
    return names->arenas[i];
}

/* This thread is the first maker; others help if they can be started. */
void
readable_names_make(struct readable_names *names)
{
    struct maker makers[MAKERS_MAX];
    struct making making = {.names = names, .end = texts_count(names->texts)};
    struct thread_start start = {
        .name = "hw-names", .stack_bytes = STACK, .body = make_some};
    unsigned wanted = thread_cores(), count = 1;

    atomic_init(&making.next, names->made);
    if (wanted > 1 + (making.end - names->made) / MAKER_WORTH)
        wanted = 1 + (making.end - names->made) / MAKER_WORTH;
    /* each thread has its arena, so making a name takes no lock */
    makers[0] = (struct maker){.making = &making, .arena = names->arenas[0]};
    for (; count < wanted && count < MAKERS_MAX; count++) {
        makers[count] =
            (struct maker){.making = &making, .arena = arena_of(names, count)};
        start.arg = &makers[count];
        if (!makers[count].arena ||
            thread_start(&makers[count].thread, &start, NULL) != 0)
            break;
    }
    make_some(&makers[0]);
    for (unsigned i = 1; i < count; i++)
        pthread_join(makers[i].thread, NULL);
    names->made = making.end;
}
