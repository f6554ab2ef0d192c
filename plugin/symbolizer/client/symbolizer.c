/*
 * symbolizer.c - see symbolizer.h.
 *
 * A profile has up to a million addresses, in a handful of files.  They are
 * grouped by file, so that the helper opens and reads each object once.  The
 * cache answers the addresses it knows; the others of a file are one question
 * to the helper; an address without an answer is shown as an offset.  While the
 * helper works on one file, this thread prepares the next one's question and
 * sends it ahead, so the helper never waits.  A repeated request gets the same
 * names.  The helper ends with the request: what it has read of objects would
 * stay in its memory.
 */
#include "symbolizer.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "reader.h"
#include "clean_text.h"
#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "locate_inner.h"
#include "mappings.h"
#include "memory.h"
#include "names.h"
#include "resolve_job.h"

/* ---- the file that each address lies in ---- */

/* Addresses outside files are named at once; the others become items, in the
 * order of their offsets in files.  Addresses ascend, so those of one mapping
 * are in order already: nearly always, only the mappings need sorting. */

/* Addresses of one mapping. */
struct run {
    const struct mapping *mapping;
    const uint64_t *addresses;
    size_t count;
};

struct runs {
    struct run *list; /* room for capacity */
    size_t count, capacity;
};

enum { FIRST_CAPACITY = 64 };

static int
compare_items(const void *a, const void *b)
{
    const struct resolve_item *x = a, *y = b;
    const struct mapping *m = x->mapping, *n = y->mapping;
    int order;

    if (m->device != n->device)
        return m->device < n->device ? -1 : 1;
    if (m->inode != n->inode)
        return m->inode < n->inode ? -1 : 1;
    order = m == n ? 0 : strcmp(m->path, n->path);
    if (order != 0)
        return order;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The item of a run's i-th address. */
static struct resolve_item
address_run_item(const struct run *run, size_t i)
{
    const struct mapping *m = run->mapping;
    uint64_t address = run->addresses[i];

    return (struct resolve_item){.address = address,
                                 .offset = address - m->start + m->offset,
                                 .mapping = m};
}

static int
compare_runs(const void *a, const void *b)
{
    const struct resolve_item x = address_run_item(a, 0),
                              y = address_run_item(b, 0);

    return compare_items(&x, &y);
}

/* False: no memory. */
static bool
add_to_runs(struct runs *runs, const struct mapping *mapping,
            const uint64_t *address)
{
    struct run *run = runs->count ? &runs->list[runs->count - 1] : NULL;
    size_t room = runs->capacity ? runs->capacity * 2 : FIRST_CAPACITY;

    if (run && run->mapping == mapping &&
        run->addresses + run->count == address) {
        run->count++;
        return true;
    }
    if (runs->count == runs->capacity) {
        run = mem_realloc(runs->list, room * sizeof(*run));
        if (!run)
            return false;
        runs->list = run;
        runs->capacity = room;
    }
    runs->list[runs->count++] = (struct run){mapping, address, 1};
    return true;
}

static bool
lies_in(const struct mapping *m, uint64_t address)
{
    return m && address >= m->start && address < m->end;
}

/* False: no memory. */
static bool
find_runs(struct resolve_job *job, struct runs *runs)
{
    const struct resolve_request *request = job->request;
    const struct mapping *m = NULL;
    char module[MODULE_MAX];

    for (size_t i = 0; i < request->count; i++) {
        uint64_t address = request->addresses[i];

        if (!lies_in(m, address))
            m = mappings_find(request->maps, address);
        /* code made at run time, or memory that has been unmapped since */
        if (!m || (m->inode == 0 && m->path[0] != '[')) {
            resolve_answers_plain(job, address, "", address, false);
        } else if (m->inode == 0) {
            resolve_set_module(module, m->path);
            resolve_answers_plain(job, address, module, address - m->start,
                                  false);
        } else if (!add_to_runs(runs, m, &request->addresses[i])) {
            return false;
        }
    }
    return true;
}

/* Sorts all items only if need be: runs of a file that is mapped twice may
 * overlap. */
size_t
resolve_items_sort(struct resolve_job *job)
{
    struct runs runs = {NULL, 0, 0};
    struct resolve_item *items = job->items;
    size_t count = 0;
    bool sorted = true;

    if (!find_runs(job, &runs))
        job->no_memory = true;
    if (runs.count > 0)
        qsort(runs.list, runs.count, sizeof(*runs.list), compare_runs);
    for (size_t k = 0; k < runs.count; k++)
        for (size_t i = 0; i < runs.list[k].count; i++, count++) {
            items[count] = address_run_item(&runs.list[k], i);
            sorted = sorted && (count == 0 || compare_items(&items[count - 1],
                                                            &items[count]) < 0);
        }
    if (!sorted)
        qsort(items, count, sizeof(*items), compare_items);
    mem_free(runs.list);
    return count;
}

/* A raw profile names no build: offset and size of the code's pages are the
 * only sign that BINARY was mapped here. */
static bool
is_program_code_mapping(const struct mapping *m, const struct elf_file *elf,
                        uint64_t page)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        /* the kernel maps whole pages */
        uint64_t first = s->offset & ~(page - 1);
        uint64_t end = (s->offset + s->file_size + page - 1) & ~(page - 1);

        if (s->type == PT_LOAD && (s->flags & PF_X) && m->offset == first &&
            m->end - m->start == end - first)
            return true;
    }
    return false;
}

static int
mapping_path_score(const struct mapping *m, const char *path)
{
    if (strcmp(m->path, path) == 0)
        return 2;
    return strcmp(base_name(m->path), base_name(path)) == 0;
}

const struct mapping *
program_mapping(const struct mappings *maps, const struct elf_file *elf,
                const char *path)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const struct mapping *best = NULL;

    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->list[i];

        if (m->executable && m->inode &&
            is_program_code_mapping(m, elf, page) &&
            (!best ||
             mapping_path_score(m, path) > mapping_path_score(best, path)))
            best = m;
    }
    return best;
}

enum { DEADLINE_MS = 60 * 1000 };

static const uint64_t default_memory_bytes = (uint64_t)4 << 30;

struct symbolizer *
symbolizer_new(const struct symbolizer_options *options, struct error *err)
{
    struct symbolizer *s = mem_zalloc(1, sizeof(*s));
    struct helper_options helper = {
        .program = options->program,
        .memory_bytes = options->memory_bytes ? options->memory_bytes
                                              : default_memory_bytes,
        .cpu_ms = options->deadline_ms ? options->deadline_ms : DEADLINE_MS,
        .reader_mb = options->reader_mb,
    };

    if (!s) {
        error_memory(err, "the symboliser");
        return NULL;
    }
    s->deadline_ms = helper.cpu_ms;
    s->no_lines = options->no_lines;
    s->short_names = options->short_names;
    s->once = options->once;
    s->here = options->here;
    s->debug = options->debug;
    if (options->indexes)
        s->indexes = *options->indexes;
    s->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->cancel_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        goto fail;
    }
    helper.cancel_fd = s->cancel_fd;
    s->cache = symbol_cache_new();
    if (!s->cache) {
        error_memory(err, "the symbol cache");
        goto fail;
    }
    s->helper = helper_new(&helper, err);
    if (!s->helper)
        goto fail;
    return s;
fail:
    symbolizer_free(s);
    return NULL;
}

void
symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return;
    names_free(s->kept.names);
    helper_free(s->helper);
    symbol_cache_free(s->cache);
    fd_close(s->cancel_fd);
    mem_free(s);
}

void
symbolizer_prepare(struct symbolizer *s)
{
    helper_prepare(s->helper);
}

void
symbolizer_cancel(struct symbolizer *s)
{
    /* Fails only if the counter is full; then it is readable anyway. */
    (void)eventfd_write(s->cancel_fd, 1);
}

/* Finds out whether the object is jemalloc as a library, or a program that
 * contains it. */
static void
find_allocator(struct resolve_object *object)
{
    static const char library[] = "libjemalloc";
    const struct resolve_request *request = object->job->request;
    uint64_t address = request->allocator_address;
    const struct mapping *m = mappings_find(request->maps, address);
    bool has = address && m && resolve_same_file(m, object->mapping);

    object->in_allocator = strncmp(base_name(object->mapping->path), library,
                                   sizeof(library) - 1) == 0 ||
                           (has && object->elf.has_soname);
    if (has && !object->in_allocator &&
        !elf_address_of(&object->elf, address - m->start + m->offset,
                        &object->mallctl))
        object->mallctl = 0;
}

/* Takes the items of one file, beginning with `from`, answers what cache and
 * index know, and lists the rest as asked.  count 0: no item is left. */
static void
prepare_object(struct resolve_object *object, struct resolve_job *job,
               size_t from, size_t count)
{
    struct error err = {0};
    int fd;

    *object = (struct resolve_object){.job = job,
                                      .index_fd = -1,
                                      .elf = {.fd = -1},
                                      .items = job->items + from,
                                      .asked = job->offsets + from,
                                      .asked_first = job->first + from};
    if (from == count)
        return;
    object->mapping = object->items[0].mapping;
    while (from + object->count < count &&
           resolve_same_file(object->items[object->count].mapping,
                             object->mapping))
        object->count++;
    fd = resolve_open(object);

    resolve_set_module(object->module, object->mapping->path);
    if (fd < 0) {
        snprintf(object->trouble, sizeof(object->trouble),
                 "the file cannot be opened");
    } else if (elf_init(&object->elf, fd, object->module, &err) != 0) {
        snprintf(object->trouble, sizeof(object->trouble), "%s", err.text);
        fd_close(fd);
        object->elf.fd = fd = -1;
    }
    job->unsteady |= fd < 0;
    find_allocator(object);
    if (fd >= 0) {
        object->key = cache_key_of(&object->elf);
        resolve_kept_note(job, &object->key);
        if (symbol_cache_is_poor(job->s->cache, &object->key)) {
            resolve_open_index(object);
            /* an index came since the names were cached: ask it for all of
             * them */
            if (object->index_fd >= 0)
                symbol_cache_renew(job->s->cache, &object->key);
        }
        resolve_question_look_up(object);
        if (object->asked_count > 0 && !job->cancelled)
            resolve_open_index(object);
        resolve_indexed(object);
    }
}

static void
finish_object(struct resolve_object *object)
{
    int fd = object->elf.fd;

    if (object->trouble[0])
        resolve_complain(object->job, object->module, object->trouble);
    if (fd >= 0)
        resolve_question_ask(object);
    resolve_answers_offsets(object);
    locate_inner_free(object->inner);
    elf_fini(&object->elf);
    fd_close(object->index_fd);
    fd_close(fd);
}

/* Offline: finds the mapping of the BINARY argument, which may lie elsewhere
 * than the profiled program did. */
static void
find_program_mapping(struct resolve_job *job)
{
    const char *path = job->request->program;
    struct elf_file elf = {0};
    struct error err = {0};

    if (!path)
        return;
    job->program_path = realpath(path, NULL);
    job->program_fd =
        job->program_path ? file_open_regular(job->program_path) : -1;
    if (job->program_fd < 0)
        error_sys(&err, ER_UNKNOWN, "cannot open it");
    else if (job->request->maps->count == 0)
        error_set(&err, ER_UNKNOWN,
                  "its place is unknown: the profile has no mappings, "
                  "which come last in it");
    else if (elf_init(&elf, job->program_fd, path, &err) == 0 &&
             !(job->program = program_mapping(job->request->maps, &elf, path)))
        error_set(&err, ER_UNKNOWN,
                  "is not the program of this profile: no mapping has the "
                  "place and size of its code");
    if (err.text[0])
        resolve_complain(job, path, err.text);
    elf_fini(&elf);
}

/* Two objects at a time: while the helper works on one, the next is
 * prepared. */
static void
resolve_all(struct resolve_job *job)
{
    size_t count = resolve_items_sort(job);
    struct resolve_object objects[2];
    bool ahead;

    prepare_object(&objects[0], job, 0, count);
    for (size_t i = 0, done = 0; done < count; i = 1 - i) {
        struct resolve_object *object = &objects[i], *next = &objects[1 - i];

        done += object->count;
        ahead = resolve_question_ask_ahead(object);
        prepare_object(next, job, done, count);
        if (ahead)
            resolve_question_ask_ahead(next);
        finish_object(object);
    }
}

static void
write_note(struct resolve_job *job)
{
    char note[NOTE_BYTES], clean[NOTE_BYTES];

    if (job->cancelled)
        resolve_complain(job, "cancelled", "the rest is shown as offsets");
    if (job->more_notes)
        snprintf(note, sizeof(note), "%.180s (and %zu more)", job->note,
                 job->more_notes);
    else
        snprintf(note, sizeof(note), "%s", job->note);
    clean_text((struct span){note, strlen(note)}, clean);
    names_set_note(job->names, clean);
}

int
symbolizer_resolve(struct symbolizer *s, const struct resolve_request *request,
                   struct names **out, struct error *err)
{
    struct resolve_job job = {.s = s,
                              .request = request,
                              .until = clock_ms() + s->deadline_ms,
                              .program_fd = -1};
    int rc = -1;

    job.names = resolve_kept_find(&job);
    if (job.names) {
        *out = job.names;
        return 0;
    }
    job.names = names_new(NAMES_BYTES_MAX);
    job.items = mem_zalloc(request->count, sizeof(*job.items));
    job.offsets = mem_zalloc(request->count, sizeof(*job.offsets));
    job.first = mem_zalloc(request->count, sizeof(*job.first));
    if (!job.names || !job.items || !job.offsets || !job.first) {
        error_memory(err, "the names of addresses");
        goto out;
    }
    /* one allocation instead of a dozen doublings */
    names_expect(job.names, request->count);
    find_program_mapping(&job);
    helper_cancel_by(s->helper, request->cancelled);
    resolve_all(&job);
    helper_cancel_by(s->helper, NULL);
    /* The helper keeps in memory what it has read of objects: end it. */
    if (s->once)
        helper_let_go(s->helper);
    else
        helper_end(s->helper);
    if (job.no_memory) {
        error_memory(err, "the names of addresses");
        goto out;
    }
    write_note(&job);
    resolve_kept_set(&job);
    *out = job.names;
    job.names = NULL;
    rc = 0;
out:
    names_free(job.names);
    mem_free(job.items);
    mem_free(job.offsets);
    mem_free(job.first);
    mem_free(job.texts);
    fd_close(job.program_fd);
    free(job.program_path);
    return rc;
}
