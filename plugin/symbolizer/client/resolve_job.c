/*
 * resolve_job.c - see resolve_job.h: the cache of names, and the last answer.
 *
 * Two things make a repeated request cheap.  The cache has the names of offsets
 * of known objects; it goes by build-id, so it survives restarts of the
 * database.  And the last answer is kept whole: a node's dumps have the same
 * addresses in the same files until it runs code that it has not run before, so
 * a hash over addresses and mappings decides, and the files are checked again
 * by their keys.  Both are emptied as a whole, not entry by entry: what is
 * needed comes back.  On the thread of symbolizer_resolve, without locks.
 */
#include "resolve_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "reader.h"
#include "clean_text.h"
#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "hash.h"
#include "index_files.h"
#include "mappings.h"
#include "memory.h"
#include "names.h"

/* The cache is a struct names whose addresses are an object's number above an
 * offset in its file. */

enum { OFFSET_BITS = 48 };

struct object {
    struct cache_key key; /* size 0: forgotten; its names are no longer found */
    uint64_t degraded_ms; /* when; 0: never */
    char why[CACHE_WHY_MAX];
    char remark[CACHE_WHY_MAX];
    bool indexed;          /* an index was used: its names cannot get better */
    bool has_source_lines; /* some names have a source file: there was DWARF */
};

struct symbol_cache {
    struct names *names; /* NULL: no memory at the moment */
    struct object objects[CACHE_OBJECTS];
    size_t object_count;
    uint64_t changes;
};

struct symbol_cache *
symbol_cache_new(void)
{
    return mem_zalloc(1, sizeof(struct symbol_cache));
}

void
symbol_cache_free(struct symbol_cache *cache)
{
    if (!cache)
        return;
    names_free(cache->names);
    mem_free(cache);
}

struct cache_key
cache_key_of(const struct elf_file *elf)
{
    struct cache_key key = {{0}, 0};
    char unused[PATH_MAX];
    struct stat st;

    if (elf->build_id_size) {
        memcpy(key.bytes, elf->build_id, elf->build_id_size);
        key.size = elf->build_id_size;
    } else if (fstat(elf->fd, &st) == 0) {
        uint64_t facts[] = {st.st_dev, st.st_ino, (uint64_t)st.st_mtim.tv_sec,
                            (uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_size};

        memcpy(key.bytes, facts, sizeof(facts));
        key.size = sizeof(facts);
    }
    /* Once its debug file has been fetched, the object has better names: with
     * another key they are asked for again. */
    if (debug_fetched_find(elf, unused))
        key.bytes[0] ^= 0xff;
    return key;
}

/* A linear search, as there are few objects.  Forgotten ones have size 0, which
 * no key has. */
static struct object *
find_cached_object(struct symbol_cache *cache, const struct cache_key *key)
{
    for (size_t i = 0; key->size && i < cache->object_count; i++) {
        struct object *object = &cache->objects[i];

        if (object->key.size == key->size &&
            memcmp(object->key.bytes, key->bytes, key->size) == 0)
            return object;
    }
    return NULL;
}

/* Counts as a change, so that the last answer is not used again. */
static void
empty_cache(struct symbol_cache *cache)
{
    names_free(cache->names);
    cache->names = names_new(CACHE_BYTES);
    cache->object_count = 0;
    cache->changes++;
}

static struct object *
find_or_add_object(struct symbol_cache *cache, const struct cache_key *key)
{
    struct object *object = find_cached_object(cache, key);

    if (object || key->size == 0)
        return object;
    /* rare: a process has dozens of objects, and a restart brings none */
    if (cache->object_count == CACHE_OBJECTS)
        empty_cache(cache);
    object = &cache->objects[cache->object_count++];
    memset(object, 0, sizeof(*object));
    object->key = *key;
    return object;
}

static uint64_t
compose_cache_address(const struct symbol_cache *cache,
                      const struct object *object, uint64_t offset)
{
    return (uint64_t)(object - cache->objects) << OFFSET_BITS | offset;
}

const char *
symbol_cache_degraded(struct symbol_cache *cache, const struct cache_key *key)
{
    struct object *object = find_cached_object(cache, key);

    if (!object || object->degraded_ms == 0)
        return NULL;
    if (clock_ms() - object->degraded_ms < CACHE_DEGRADED_MS)
        return object->why;
    /* its names stay in the table, unreachable, until the cache is emptied */
    memset(object, 0, sizeof(*object));
    cache->changes++;
    return NULL;
}

void
symbol_cache_degrade(struct symbol_cache *cache, const struct cache_key *key,
                     const char *why)
{
    struct object *object = find_or_add_object(cache, key);

    if (!object)
        return;
    cache->changes++;
    object->degraded_ms = clock_ms();
    snprintf(object->why, sizeof(object->why), "%s", why);
}

const char *
symbol_cache_remark(struct symbol_cache *cache, const struct cache_key *key)
{
    const struct object *object = find_cached_object(cache, key);

    return object ? object->remark : "";
}

void
symbol_cache_set_remark(struct symbol_cache *cache, const struct cache_key *key,
                        const char *remark, bool indexed)
{
    struct object *object = find_or_add_object(cache, key);

    if (!object)
        return;
    cache->changes++;
    snprintf(object->remark, sizeof(object->remark), "%s", remark);
    object->indexed |= indexed;
}

/* Names are poor after a complaint, at symbols only, or without any source
 * line: an index, if one comes, has better ones. */
bool
symbol_cache_is_poor(struct symbol_cache *cache, const struct cache_key *key)
{
    const struct object *object = find_cached_object(cache, key);

    return object && !object->indexed &&
           (object->degraded_ms || object->remark[0] ||
            !object->has_source_lines);
}

/* The old slot is forgotten and a new one taken, as the names in the table go
 * by the slot's number. */
void
symbol_cache_renew(struct symbol_cache *cache, const struct cache_key *key)
{
    struct object *object = find_cached_object(cache, key), before;

    if (!object)
        return;
    cache->changes++;
    before = *object;
    memset(object, 0, sizeof(*object));
    object = find_or_add_object(cache, key);
    object->degraded_ms = before.degraded_ms;
    object->indexed = true;
    memcpy(object->why, before.why, sizeof(object->why));
}

const struct location *
symbol_cache_find(struct symbol_cache *cache, const struct cache_key *key,
                  uint64_t offset)
{
    const struct object *object = find_cached_object(cache, key);

    if (!cache->names || !object || offset >> OFFSET_BITS)
        return NULL;
    return names_find(cache->names,
                      compose_cache_address(cache, object, offset));
}

static int
add_names_at(struct names *names, uint64_t place,
             const struct location *location)
{
    if (names_add(names, place, location->frames, location->frame_count,
                  false) != 0)
        return -1;
    return location->symbol ? names_set_symbol(names, place, location->symbol,
                                               location->symbol_start)
                            : 0;
}

void
symbol_cache_add(struct symbol_cache *cache, const struct cache_key *key,
                 uint64_t offset, const struct location *location)
{
    struct object *object;

    if (offset >> OFFSET_BITS)
        return;
    /* the second time with an empty cache: one answer always fits */
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!cache->names)
            empty_cache(cache);
        object = find_or_add_object(cache, key);
        if (!object)
            return;
        object->has_source_lines |= location->frames[0].file[0] != '\0';
        if (cache->names &&
            add_names_at(cache->names,
                         compose_cache_address(cache, object, offset),
                         location) == 0)
            return;
        /* there was no room: begin anew */
        empty_cache(cache);
    }
}

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
    struct span text = {base_name(path), 0};

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
    /* offline, the given BINARY stands for the file that was mapped */
    if (job->program && resolve_same_file(job->program, mapping)) {
        object->path = job->program_path;
        return fcntl(job->program_fd, F_DUPFD_CLOEXEC, 0);
    }
    if (job->request->open_object)
        return job->request->open_object(job->request->arg, mapping);
    /* The path of a deleted file may lead to another file by now. */
    return mapping->deleted || mapping->path[0] != '/'
               ? -1
               : file_open_regular(mapping->path);
}

void
resolve_open_index(struct resolve_object *object)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;
    struct error ours = {0}, shipped = {0};

    if (object->index_fd >= 0)
        return;
    if (indexes->open)
        object->index_fd = indexes->open(indexes->arg, &object->elf, &ours);
    if (object->index_fd < 0)
        object->index_fd =
            index_file_open(&object->elf, NULL, object->path, &shipped);
    snprintf(object->passed_over, sizeof(object->passed_over), "%.*s",
             CACHE_WHY_MAX - 1, ours.text[0] ? ours.text : shipped.text);
}

enum {
    KEPT_BYTES_MAX = 64 << 20, /* memory of an answer that is kept */
    FILES_MAX = 256            /* files that a repeated request may have */
};

/* ---- the last answer ---- */

/* A node's dumps have the same addresses in the same files until it runs code
 * that it did not run before. */

static void
add_print_bytes(struct resolve_print *print, const void *bytes, size_t size)
{
    /* two seeds, 128 bits: a collision would give another request's names */
    for (int i = 0; i < 2; i++)
        print->hash[i] = hash_bytes(print->hash[i], bytes, size);
}

/* Adds the facts of a mapping that names depend on; NULL: there is none. */
static void
add_print_mapping(struct resolve_print *print, const struct mapping *m)
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
            facts[2] = 0; /* the heap grows, which changes no name */
    }
    add_print_bytes(print, facts, sizeof(facts));
    if (m)
        add_print_bytes(print, m->path, strlen(m->path));
}

/* Hashes a request.  Addresses ascend, so each mapping is added once. */
static struct resolve_print
print_of(const struct resolve_job *job)
{
    const struct resolve_request *request = job->request;
    struct resolve_print print = {
        .hash = {hash_seed(job->s), ~hash_seed(job->s->cache)}};
    const struct mapping *last = NULL, *m;

    add_print_bytes(&print, request->addresses,
                    request->count * sizeof(*request->addresses));
    add_print_bytes(&print, &request->allocator_address,
                    sizeof(request->allocator_address));
    add_print_mapping(&print,
                      mappings_find(request->maps, request->allocator_address));
    for (size_t i = 0; i < request->count; i++) {
        if (last && request->addresses[i] >= last->start &&
            request->addresses[i] < last->end)
            continue;
        m = mappings_find(request->maps, request->addresses[i]);
        add_print_mapping(&print, m);
        last = m;
    }
    return print;
}

/* Whether asking again could not improve the object's names. */
static bool
is_cached_object_current(struct resolve_job *job, const struct mapping *mapping)
{
    struct resolve_object object = {
        .job = job, .index_fd = -1, .mapping = mapping};
    struct error ignored;
    int fd = resolve_open(&object);
    bool same = false;

    if (fd < 0)
        return false;
    if (elf_init(&object.elf, fd, mapping->path, &ignored) == 0) {
        object.key = cache_key_of(&object.elf);
        resolve_kept_note(job, &object.key);
        same = symbol_cache_degraded(job->s->cache, &object.key) == NULL;
        /* an index that came since would give better names */
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

/* The hash does not see that a file was replaced or got an index since: each is
 * opened and its key compared, which costs microseconds. */
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
        if (count == FILES_MAX || !is_cached_object_current(job, m))
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

    /* offline the same addresses may be asked of another BINARY */
    if (s->once || job->request->program)
        return NULL;
    job->print = print_of(job);
    if (!kept->names ||
        memcmp(&kept->print, &job->print, sizeof(job->print)) != 0 ||
        !files_are_as_before(job) || kept->keys != job->keys ||
        kept->changes != s->cache->changes) {
        job->keys = 0;
        return NULL;
    }
    if (job->request->named)
        atomic_store_explicit(job->request->named,
                              (unsigned)job->request->count,
                              memory_order_relaxed);
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

    /* the last answer only: two of 64 MB would be too much */
    names_free(kept->names);
    kept->names = NULL;
    if (s->once || job->request->program || job->unsteady || job->cancelled ||
        names_memory(job->names) > KEPT_BYTES_MAX)
        return;
    kept->names = names_ref(job->names);
    kept->print = job->print;
    kept->keys = job->keys;
    kept->changes = s->cache->changes;
}
