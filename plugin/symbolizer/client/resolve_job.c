/* resolve_job.c - see resolve_job.h. */
#include "resolve_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "clean_text.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "hash.h"
#include "index_files.h"
#include "mappings.h"
#include "names.h"

void
resolve_complain(struct resolve_job *job, const char *what, const char *why)
{
    if (job->note[0])
        job->more_notes++;
    else
        snprintf(job->note, sizeof(job->note), "%.90s: %s", what, why);
}

void
resolve_set_module(char *module, const char *path)
{
    struct span text = {mapping_basename(path), 0};

    text.size = strnlen(text.data, MODULE_MAX - 1);
    clean_text(text, module);
}

bool
resolve_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->device == b->device && a->inode == b->inode &&
           strcmp(a->path, b->path) == 0;
}

int
resolve_open(struct resolve_object *object)
{
    const struct resolve_job *job = object->job;
    const struct mapping *mapping = object->mapping;

    object->path = mapping->path;
    if (job->program && resolve_same_file(job->program, mapping)) {
        object->path = job->program_path;
        return fcntl(job->program_fd, F_DUPFD_CLOEXEC, 0);
    }
    if (job->request->open_object)
        return job->request->open_object(job->request->arg, mapping);
    /* A deleted file's path leads to another file now. */
    return mapping->deleted || mapping->path[0] != '/'
               ? -1
               : file_open_regular(mapping->path);
}

void
resolve_open_index(struct resolve_object *object)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;
    struct error ours = {0}, beside = {0};

    if (object->index_fd >= 0)
        return;
    if (indexes->open)
        object->index_fd = indexes->open(indexes->arg, &object->elf, &ours);
    if (object->index_fd < 0)
        object->index_fd =
            index_file_open(&object->elf, NULL, object->path, &beside);
    snprintf(object->passed_over, sizeof(object->passed_over), "%.*s",
             CACHE_WHY_MAX - 1, ours.text[0] ? ours.text : beside.text);
}

enum {
    KEPT_BYTES_MAX = 64 << 20, /* of the answer */
    FILES_MAX = 256            /* that addresses lie in */
};

/* ---- the last answer, kept for a repeated request ---- */

/* A node's dumps have the same addresses in the same files until it runs code
 * that it did not run before. */

static void
add_bytes(struct resolve_print *print, const void *bytes, size_t size)
{
    for (int i = 0; i < 2; i++)
        print->hash[i] = hash_bytes(print->hash[i], bytes, size);
}

/* The facts of a mapping that names depend on; NULL: none. */
static void
add_mapping(struct resolve_print *print, const struct mapping *m)
{
    uint64_t facts[6] = {0};

    if (m) {
        facts[0] = 1 + (uint64_t)m->deleted;
        facts[1] = m->start;
        facts[2] = m->end;
        facts[3] = m->offset;
        facts[4] = m->device;
        facts[5] = m->inode;
        if (m->path[0] == '[')
            facts[2] = 0; /* a heap grows */
    }
    add_bytes(print, facts, sizeof(facts));
    if (m)
        add_bytes(print, m->path, strlen(m->path));
}

/* Addresses ascend, so each mapping comes once. */
static struct resolve_print
print_of(const struct resolve_job *job)
{
    const struct resolve_request *request = job->request;
    struct resolve_print print = {
        .hash = {hash_seed(job->s), ~hash_seed(job->s->cache)}};
    const struct mapping *last = NULL, *m;

    add_bytes(&print, request->addresses,
              request->count * sizeof(*request->addresses));
    add_bytes(&print, &request->allocator_address,
              sizeof(request->allocator_address));
    add_mapping(&print,
                mappings_find(request->maps, request->allocator_address));
    for (size_t i = 0; i < request->count; i++) {
        if (last && request->addresses[i] >= last->start &&
            request->addresses[i] < last->end)
            continue;
        m = mappings_find(request->maps, request->addresses[i]);
        add_mapping(&print, m);
        last = m;
    }
    return print;
}

/* Whether asking again could not better the object's names. */
static bool
is_as_before(struct resolve_job *job, const struct mapping *mapping)
{
    struct resolve_object object = {
        .job = job, .index_fd = -1, .mapping = mapping};
    struct error unsaid;
    int fd = resolve_open(&object);
    bool same = false;

    if (fd < 0)
        return false;
    if (elf_init(&object.elf, fd, mapping->path, &unsaid) == 0) {
        object.key = cache_key_of(&object.elf);
        resolve_kept_note(job, &object.key);
        same = symbol_cache_degraded(job->s->cache, &object.key) == NULL;
        if (same && symbol_cache_is_poor(job->s->cache, &object.key)) {
            resolve_open_index(&object);
            same = object.index_fd < 0;
        }
    }
    elf_fini(&object.elf);
    fd_close(object.index_fd);
    fd_close(fd);
    return same;
}

static bool
files_are_as_before(struct resolve_job *job)
{
    const struct resolve_request *request = job->request;
    const struct mapping *files[FILES_MAX], *last = NULL, *m;
    size_t count = 0, k;

    for (size_t i = 0; i < request->count; i++) {
        if (last && request->addresses[i] >= last->start &&
            request->addresses[i] < last->end)
            continue;
        last = m = mappings_find(request->maps, request->addresses[i]);
        if (!m || m->inode == 0)
            continue;
        for (k = 0; k < count && !resolve_same_file(files[k], m); k++)
            continue;
        if (k < count)
            continue;
        if (count == FILES_MAX || !is_as_before(job, m))
            return false;
        files[count++] = m;
    }
    return true;
}

struct names *
resolve_kept_find(struct resolve_job *job)
{
    struct symbolizer *s = job->s;
    struct resolve_kept *kept = &s->kept;

    if (s->once || job->request->program)
        return NULL;
    job->print = print_of(job);
    if (!kept->names ||
        memcmp(&kept->print, &job->print, sizeof(job->print)) != 0 ||
        !files_are_as_before(job) || kept->keys != job->keys ||
        kept->changes != symbol_cache_changes(s->cache)) {
        job->keys = 0;
        return NULL;
    }
    if (job->request->named)
        __atomic_store_n(job->request->named, (unsigned)job->request->count,
                         __ATOMIC_RELAXED);
    return names_ref(kept->names);
}

void
resolve_kept_note(struct resolve_job *job, const struct cache_key *key)
{
    job->keys +=
        hash_bytes(hash_seed(job->s), (const char *)key->bytes, key->size);
}

void
resolve_kept_set(struct resolve_job *job)
{
    struct symbolizer *s = job->s;
    struct resolve_kept *kept = &s->kept;

    names_free(kept->names);
    kept->names = NULL;
    if (s->once || job->request->program || job->unsteady || job->cancelled ||
        names_memory(job->names) > KEPT_BYTES_MAX)
        return;
    kept->names = names_ref(job->names);
    kept->print = job->print;
    kept->keys = job->keys;
    kept->changes = symbol_cache_changes(s->cache);
}
