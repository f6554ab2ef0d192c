/*
 * symbolizer.c - see symbolizer.h.
 *
 * Addresses are grouped by the file they lie in; what the cache knows of it is
 * taken from there, the rest is one question to the helper, and whatever stays
 * without an answer is shown as an offset.
 */
#include "symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "clean_text.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "index_files.h"
#include "mappings.h"
#include "memory.h"
#include "names.h"
#include "program_mapping.h"
#include "symbol_cache.h"
#include "symbolizer_wire.h"

enum {
    MODULE_MAX = 256, /* a file name; longer ones are cut */
    NOTE_BYTES = 256,
    TEXTS_FIRST = 1024,
    DEADLINE_MS = 60 * 1000
};

static const uint64_t default_memory_bytes = (uint64_t)4 << 30;
static const size_t names_bytes = (size_t)512 << 20;

struct symbolizer {
    struct helper *helper;
    struct symbol_cache *cache;
    uint32_t deadline_ms;
    int cancel_fd; /* eventfd: never read, so that no cancel is missed */
    struct symbolizer_indexes indexes; /* zeroed: none */
    bool no_lines, once;
};

/* An address and its place in a file; mapping NULL: in none. */
struct item {
    uint64_t address, offset;
    const struct mapping *mapping;
};

/* One symbolizer_resolve under way. */
struct job {
    struct symbolizer *s;
    const struct resolve_request *request;
    struct names *names;
    struct item *items;
    uint64_t *offsets;  /* of the object at hand: those to be asked for */
    size_t *first;      /* item of each offset */
    const char **texts; /* the helper's, clean, of the object at hand */
    uint32_t text_count, text_room;
    uint64_t until; /* when all of it has to be done */
    int program_fd;
    const struct mapping *program; /* where request->program lies; NULL */
    char *program_path;            /* absolute; libc's malloc */
    bool cancelled, no_memory;
    char note[NOTE_BYTES];
    size_t more_notes;
};

/* The items of one file. */
struct object {
    struct job *job;
    const struct mapping *mapping;
    const char *path;
    struct item *items;
    size_t count;
    struct elf_file elf;
    struct cache_key key;
    char module[MODULE_MAX];
    bool in_allocator;
    int index_fd;                /* -1: none */
    char refused[CACHE_WHY_MAX]; /* why the index is of no use; "": it is */
    const uint64_t *asked;       /* what is still to be answered */
    const size_t *asked_first;
    size_t asked_count;
};

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
    s->once = options->once;
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
    helper_free(s->helper);
    symbol_cache_free(s->cache);
    fd_close(s->cancel_fd);
    mem_free(s);
}

void
symbolizer_cancel(struct symbolizer *s)
{
    /* Cannot fail but when already set. */
    (void)eventfd_write(s->cancel_fd, 1);
}

/* The first complaint is told, the others are counted. */
static void
complain(struct job *job, const char *what, const char *why)
{
    if (job->note[0])
        job->more_notes++;
    else
        snprintf(job->note, sizeof(job->note), "%.90s: %.160s", what, why);
}

static void
count_named(const struct job *job)
{
    if (job->request->named)
        __atomic_add_fetch(job->request->named, 1, __ATOMIC_RELAXED);
}

static void
add(struct job *job, uint64_t address, const struct frame *frames,
    uint32_t count, bool in_allocator)
{
    if (names_add(job->names, address, frames, count, in_allocator) != 0)
        job->no_memory = true;
    count_named(job);
}

static void
add_plain(struct job *job, uint64_t address, const char *module,
          uint64_t offset, bool in_allocator)
{
    char text[MODULE_MAX + 24];
    struct frame frame = {text, "", 0};

    snprintf(text, sizeof(text), "%s%s0x%llx", module, module[0] ? "+" : "",
             (unsigned long long)offset);
    add(job, address, &frame, 1, in_allocator);
}

static bool
same_file(const struct mapping *a, const struct mapping *b)
{
    return a->device == b->device && a->inode == b->inode &&
           strcmp(a->path, b->path) == 0;
}

static int
compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
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

static void
set_module(char *module, const char *path)
{
    struct span text = {mapping_basename(path), 0};

    text.size = strnlen(text.data, MODULE_MAX - 1);
    clean_text(text, module);
}

/* A cached name that starts with '+' is an offset: its module may be called
 * otherwise in the next process. */
static void
add_known(struct object *object, const struct item *item,
          const struct location *known)
{
    struct job *job = object->job;
    char text[MODULE_MAX + 24];
    struct frame frame = known->frames[0];
    const struct frame *frames = known->frames;

    if (frame.function[0] == '+' && known->frame_count == 1) {
        snprintf(text, sizeof(text), "%s%.20s", object->module, frame.function);
        frame.function = text;
        frames = &frame;
    }
    add(job, item->address, frames, known->frame_count, object->in_allocator);
    if (known->symbol &&
        names_set_symbol(job->names, item->address, known->symbol,
                         known->symbol_start) != 0)
        job->no_memory = true;
}

/* helper_question.text */
static bool
take_text(void *arg, struct span text)
{
    struct job *job = ((struct object *)arg)->job;
    uint32_t room = job->text_room ? job->text_room * 2 : TEXTS_FIRST;
    char clean[WIRE_NAME_MAX + 1];
    const char **grown;

    if (text.size > WIRE_NAME_MAX)
        return false;
    if (job->text_count == job->text_room) {
        grown = mem_realloc(job->texts, room * sizeof(*grown));
        if (!grown)
            return false;
        job->texts = grown;
        job->text_room = room;
    }
    clean_text(text, clean);
    grown = &job->texts[job->text_count];
    *grown = names_text(job->names, clean);
    if (!*grown)
        return false;
    job->text_count++;
    return true;
}

/* NULL: there is none such. */
static const char *
text_of(const struct job *job, uint32_t number)
{
    if (number == 0)
        return "";
    return number <= job->text_count ? job->texts[number - 1] : NULL;
}

/* The answer's place in this process; its texts are names' own. */
static bool
add_answer(struct object *object, const struct item *item,
           const struct location *answer)
{
    struct job *job = object->job;
    struct location location = *answer;
    struct frame frame = answer->frames[0];
    char text[MODULE_MAX + 24];

    if (frame.function[0] == '+' && location.frame_count == 1) {
        snprintf(text, sizeof(text), "%s%.20s", object->module, frame.function);
        frame.function = names_text(job->names, text);
        location.frames = &frame;
    }
    location.address = item->address;
    location.in_allocator = object->in_allocator;
    if (!frame.function || names_add_own(job->names, &location) != 0)
        job->no_memory = true;
    count_named(job);
    return !job->no_memory;
}

/* A location of the cache, which does not change meanwhile. */
static void
add_cached(struct object *object, const struct item *item,
           const struct location *known)
{
    struct job *job = object->job;

    if (known->frames[0].function[0] == '+') { /* its module has to be said */
        add_known(object, item, known);
        return;
    }
    if (names_add_known(job->names, item->address, known,
                        object->in_allocator) != 0)
        job->no_memory = true;
    count_named(job);
}

/* helper_question.answer: the next offset's. */
static bool
take_answer(void *arg, const struct wire_reply *reply)
{
    struct object *object = arg;
    struct job *job = object->job;
    struct frame frames[NAMES_INLINE_MAX];
    struct location answer = {.frames = frames,
                              .frame_count = reply->frame_count,
                              .symbol_start = reply->start,
                              .module = ""};
    const struct item *item = object->items + object->asked_first[0];
    const struct item *end = object->items + object->count;
    char start[24];

    frames[0] = (struct frame){"", "", 0};
    for (uint32_t i = 0; i < reply->frame_count; i++) {
        frames[i].function = text_of(job, reply->frames[i].function);
        frames[i].file = text_of(job, reply->frames[i].file);
        frames[i].line = reply->frames[i].line;
        if (!frames[i].function || !frames[i].file)
            return false;
    }
    if (frames[0].function[0] == '\0') {
        snprintf(start, sizeof(start), "+0x%llx",
                 (unsigned long long)reply->start);
        frames[0].function = start;
    }
    if (reply->symbol && !(answer.symbol = text_of(job, reply->symbol)))
        return false;
    if (!answer.symbol)
        answer.symbol_start = 0;
    if (!job->s->once)
        symbol_cache_add(job->s->cache, &object->key, item->offset, &answer);
    for (uint64_t offset = item->offset; item < end && item->offset == offset;
         item++)
        if (!add_answer(object, item, &answer))
            return false;
    object->asked++;
    object->asked_first++;
    object->asked_count--;
    return true;
}

/* helper_question.refused */
static void
take_refusal(void *arg, struct span why)
{
    struct object *object = arg;

    if (why.size > sizeof(object->refused) - 1)
        why.size = sizeof(object->refused) - 1;
    clean_text(why, object->refused);
    if (!object->refused[0])
        snprintf(object->refused, sizeof(object->refused), "it is damaged");
}

/* Where everything lies, and a name for whatever is still without one. */
static void
add_offsets(struct object *object)
{
    const struct item *items = object->items;
    struct job *job = object->job;
    uint64_t address;

    for (size_t i = 0; i < object->count; i++) {
        if (!elf_address_of(&object->elf, items[i].offset, &address))
            address = items[i].offset;
        if (!names_find(job->names, items[i].address))
            add_plain(job, items[i].address, object->module, address,
                      object->in_allocator);
        if (names_set_module(job->names, items[i].address, object->module,
                             address) != 0)
            job->no_memory = true;
    }
}

/* Each question may take half of the time that is left, so that one object
 * which needs for ever does not cost the others their names. */
static enum helper_result
ask(struct object *object, bool symbols_only, struct error *err)
{
    uint64_t now = clock_ms();
    uint64_t left = object->job->until > now ? object->job->until - now : 0;
    struct helper_question question = {
        .object_fd = object->elf.fd,
        .index_fd = object->index_fd,
        .path = object->path,
        .offsets = object->asked,
        .count = (uint32_t)object->asked_count,
        .deadline_ms = (uint32_t)(left / 2),
        .symbols_only = symbols_only,
        .no_lines = object->job->s->no_lines,
        .text = take_text,
        .answer = take_answer,
        .refused = take_refusal,
        .arg = object,
    };

    object->job->text_count = 0;
    return helper_ask(object->job->s->helper, &question, err);
}

/* Ours before the one beside it, which may be anything: who reads it looks at
 * its build-id. */
static void
open_index(struct object *object)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;

    if (object->index_fd < 0 && indexes->open)
        object->index_fd = indexes->open(indexes->arg, &object->elf);
    if (object->index_fd < 0)
        object->index_fd = index_file_open(&object->elf, NULL, object->path);
}

/* For who keeps indexes. */
static void
tell_asked(const struct object *object, uint64_t began, bool indexed)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;
    struct symbolizer_asked asked = {
        .elf = &object->elf,
        .path = object->path,
        .indexed = indexed && !object->refused[0],
        .refused = object->refused[0] ? object->refused : NULL,
        .elapsed_ms = (uint32_t)(clock_ms() - began)};

    if (indexes->asked)
        indexes->asked(indexes->arg, &asked);
}

/* For the times when all names come from the cache. */
static void
set_remark(struct object *object, const char *complaint, bool indexed)
{
    char remark[CACHE_WHY_MAX];

    snprintf(remark, sizeof(remark), "%.*s", CACHE_WHY_MAX - 1, complaint);
    symbol_cache_set_remark(object->job->s->cache, &object->key, remark,
                            indexed);
}

static void
drop_index(struct object *object)
{
    fd_close(object->index_fd);
    object->index_fd = -1;
}

/* With an index, then with DWARF, then without. */
static enum helper_result
ask_in_turn(struct object *object, bool degraded, char why[CACHE_WHY_MAX],
            struct error *err)
{
    enum helper_result result = ask(object, degraded, err);

    /* One that was in use when the helper failed may be why. */
    if (result == HELPER_FAILED && object->asked_count > 0 &&
        object->index_fd >= 0 && !object->refused[0]) {
        snprintf(object->refused, sizeof(object->refused), "%.*s",
                 CACHE_WHY_MAX - 1, err->text);
        drop_index(object);
        result = ask(object, degraded, err);
    }
    if (result != HELPER_FAILED || object->asked_count == 0 || degraded)
        return result;
    snprintf(why, CACHE_WHY_MAX, "%.*s; symbol names only", CACHE_WHY_MAX - 32,
             err->text);
    drop_index(object);
    result = ask(object, true, err);
    if (result == HELPER_DONE)
        symbol_cache_degrade(object->job->s->cache, &object->key, why);
    else
        why[0] = '\0';
    return result;
}

/* An object whose DWARF failed lately is not tried with it again for a
 * while. */
static void
ask_helper(struct object *object)
{
    struct symbol_cache *cache = object->job->s->cache;
    const char *degraded = symbol_cache_degraded(cache, &object->key);
    char why[CACHE_WHY_MAX] = "", remark[CACHE_WHY_MAX];
    uint64_t began = clock_ms();
    enum helper_result result = HELPER_DONE;
    struct error err = {0};
    bool indexed = false;

    snprintf(remark, sizeof(remark), "%s",
             symbol_cache_remark(cache, &object->key));
    if (degraded) /* the cache may be emptied on the way */
        snprintf(why, sizeof(why), "%s", degraded);
    if (object->asked_count > 0 && !object->job->cancelled) {
        open_index(object);
        result = ask_in_turn(object, degraded != NULL, why, &err);
        indexed = object->index_fd >= 0 && !object->refused[0];
        if (result == HELPER_DONE || result == HELPER_FAILED)
            tell_asked(object, began, indexed);
        /* An index of no use costs names nothing. */
        if (result == HELPER_DONE && err.text[0] && object->asked_count == 0 &&
            !object->refused[0])
            set_remark(object, err.text, indexed);
    }
    if (result == HELPER_CANCELLED)
        object->job->cancelled = true;
    else if (result != HELPER_DONE || err.text[0])
        complain(object->job, object->module, err.text);
    else if (why[0] && !indexed)
        complain(object->job, object->module, why);
    else if (remark[0])
        complain(object->job, object->module, remark);
}

/* Takes from the cache what is there, and lists the rest. */
static void
look_up(struct object *object)
{
    struct job *job = object->job;
    const struct location *known;
    size_t count = 0;

    names_forget_other(job->names); /* the cache may be another by now */
    for (size_t i = 0; i < object->count; i++) {
        const struct item *item = &object->items[i];

        known = symbol_cache_find(job->s->cache, &object->key, item->offset);
        if (known) {
            add_cached(object, item, known);
        } else if (count == 0 || job->offsets[count - 1] != item->offset) {
            job->offsets[count] = item->offset;
            job->first[count++] = i;
        }
    }
    object->asked = job->offsets;
    object->asked_first = job->first;
    object->asked_count = count;
    if (count > WIRE_ADDRESSES_MAX) {
        object->asked_count = WIRE_ADDRESSES_MAX;
        complain(job, object->module, "more than 1000000 addresses in it");
    }
}

/* A device, or the writer's end of a pipe, is not opened by a profile's word.
 */
static int
open_by_path(const char *path)
{
    struct stat st;

    if (path[0] != '/' || stat(path, &st) != 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Opens the file, and sets where to look for its split debug file. */
static int
open_object(struct object *object)
{
    const struct job *job = object->job;
    const struct mapping *mapping = object->mapping;

    object->path = mapping->path;
    if (job->program && same_file(job->program, mapping)) {
        object->path = job->program_path;
        return fcntl(job->program_fd, F_DUPFD_CLOEXEC, 0);
    }
    if (job->request->open_object)
        return job->request->open_object(job->request->arg, mapping);
    /* What lies at a deleted file's path now is another one. */
    return mapping->deleted ? -1 : open_by_path(mapping->path);
}

/* jemalloc as a library; an executable with jemalloc in it is the program. */
static bool
is_allocator(const struct object *object)
{
    static const char library[] = "libjemalloc";
    const struct resolve_request *request = object->job->request;
    const struct mapping *m;

    if (strncmp(mapping_basename(object->mapping->path), library,
                sizeof(library) - 1) == 0)
        return true;
    m = mappings_find(request->maps, request->allocator_address);
    return request->allocator_address && m && object->elf.has_soname &&
           same_file(m, object->mapping);
}

static void
resolve_object(struct object *object)
{
    struct job *job = object->job;
    struct error err = {0};
    int fd = open_object(object);

    set_module(object->module, object->mapping->path);
    if (fd < 0) {
        complain(job, object->module, "the file cannot be opened");
    } else if (elf_init(&object->elf, fd, object->module, &err) != 0) {
        complain(job, object->module, err.text);
        fd_close(fd);
        fd = -1;
    }
    object->in_allocator = is_allocator(object);
    if (fd >= 0) {
        object->key = cache_key_of(&object->elf);
        if (symbol_cache_is_poor(job->s->cache, &object->key)) {
            open_index(object);
            if (object->index_fd >= 0)
                symbol_cache_renew(job->s->cache, &object->key);
        }
        look_up(object);
        ask_helper(object);
    }
    add_offsets(object);
    elf_fini(&object->elf);
    fd_close(object->index_fd);
    fd_close(fd);
}

/* Offline: the BINARY's place in the profile. */
static void
find_program(struct job *job)
{
    const char *path = job->request->program;
    struct elf_file elf = {0};
    struct error err = {0};

    if (!path)
        return;
    job->program_path = realpath(path, NULL);
    job->program_fd = job->program_path ? open_by_path(job->program_path) : -1;
    if (job->program_fd < 0)
        error_sys(&err, ER_UNKNOWN, "cannot open it");
    else if (elf_init(&elf, job->program_fd, path, &err) == 0 &&
             !(job->program = program_mapping(job->request->maps, &elf, path)))
        error_set(&err, ER_UNKNOWN,
                  "is not the program of this profile: no mapping has the "
                  "place and size of its code");
    if (err.text[0])
        complain(job, path, err.text);
    elf_fini(&elf);
}

/* Addresses outside files are named at once; the others become items. */
static size_t
sort_out(struct job *job)
{
    const struct resolve_request *request = job->request;
    char module[MODULE_MAX];
    size_t count = 0;

    for (size_t i = 0; i < request->count; i++) {
        uint64_t address = request->addresses[i];
        const struct mapping *m = mappings_find(request->maps, address);
        struct item item = {address, 0, m};

        if (!m || (m->inode == 0 && m->path[0] != '[')) {
            add_plain(job, address, "", address, false);
        } else if (m->inode == 0) {
            set_module(module, m->path);
            add_plain(job, address, module, address - m->start, false);
        } else {
            item.offset = address - m->start + m->offset;
            job->items[count++] = item;
        }
    }
    if (count)
        qsort(job->items, count, sizeof(*job->items), compare_items);
    return count;
}

static void
resolve_all(struct job *job)
{
    size_t count = sort_out(job), next;

    for (size_t i = 0; i < count; i = next) {
        struct object object = {.job = job,
                                .index_fd = -1,
                                .mapping = job->items[i].mapping,
                                .items = job->items + i};

        for (next = i + 1; next < count &&
                           same_file(job->items[next].mapping, object.mapping);
             next++)
            continue;
        object.count = next - i;
        resolve_object(&object);
    }
}

static void
write_note(struct job *job)
{
    char note[NOTE_BYTES], clean[NOTE_BYTES];

    if (job->cancelled)
        complain(job, "cancelled", "the rest is shown as offsets");
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
    struct job job = {.s = s,
                      .request = request,
                      .until = clock_ms() + s->deadline_ms,
                      .program_fd = -1};
    int rc = -1;

    job.names = names_new(names_bytes);
    job.items = mem_zalloc(request->count, sizeof(*job.items));
    job.offsets = mem_zalloc(request->count, sizeof(*job.offsets));
    job.first = mem_zalloc(request->count, sizeof(*job.first));
    if (!job.names || !job.items || !job.offsets || !job.first) {
        error_memory(err, "the names of addresses");
        goto out;
    }
    find_program(&job);
    resolve_all(&job);
    /* A helper keeps what it read of its objects in memory. */
    helper_end(s->helper);
    if (job.no_memory) {
        error_memory(err, "the names of addresses");
        goto out;
    }
    write_note(&job);
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
