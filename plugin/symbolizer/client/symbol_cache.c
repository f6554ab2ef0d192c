/* symbol_cache.c - see symbol_cache.h.
 *
 * The table is a struct names whose addresses are an object's number above an
 * offset in its file. */
#include "symbol_cache.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "elf_file.h"
#include "memory.h"
#include "names.h"

enum { OFFSET_BITS = 48 };

struct object {
    struct cache_key key; /* size 0: forgotten, and its names are unused */
    uint64_t degraded_ms; /* when; 0: never */
    char why[CACHE_WHY_MAX];
    char remark[CACHE_WHY_MAX];
    bool indexed; /* its names cannot get better */
    bool placed;  /* some have a source file: there was DWARF */
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
    return key;
}

static struct object *
find_object(struct symbol_cache *cache, const struct cache_key *key)
{
    for (size_t i = 0; key->size && i < cache->object_count; i++) {
        struct object *object = &cache->objects[i];

        if (object->key.size == key->size &&
            memcmp(object->key.bytes, key->bytes, key->size) == 0)
            return object;
    }
    return NULL;
}

static void
empty(struct symbol_cache *cache)
{
    names_free(cache->names);
    cache->names = names_new(CACHE_BYTES);
    cache->object_count = 0;
    cache->changes++;
}

static struct object *
find_or_add_object(struct symbol_cache *cache, const struct cache_key *key)
{
    struct object *object = find_object(cache, key);

    if (object || key->size == 0)
        return object;
    if (cache->object_count == CACHE_OBJECTS)
        empty(cache);
    object = &cache->objects[cache->object_count++];
    memset(object, 0, sizeof(*object));
    object->key = *key;
    return object;
}

static uint64_t
compose(const struct symbol_cache *cache, const struct object *object,
        uint64_t offset)
{
    return (uint64_t)(object - cache->objects) << OFFSET_BITS | offset;
}

const char *
symbol_cache_degraded(struct symbol_cache *cache, const struct cache_key *key)
{
    struct object *object = find_object(cache, key);

    if (!object || object->degraded_ms == 0)
        return NULL;
    if (clock_ms() - object->degraded_ms < CACHE_DEGRADED_MS)
        return object->why;
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
    const struct object *object = find_object(cache, key);

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

bool
symbol_cache_is_poor(struct symbol_cache *cache, const struct cache_key *key)
{
    const struct object *object = find_object(cache, key);

    return object && !object->indexed &&
           (object->degraded_ms || object->remark[0] || !object->placed);
}

void
symbol_cache_renew(struct symbol_cache *cache, const struct cache_key *key)
{
    struct object *object = find_object(cache, key), before;

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

uint64_t
symbol_cache_changes(const struct symbol_cache *cache)
{
    return cache->changes;
}

const struct location *
symbol_cache_find(struct symbol_cache *cache, const struct cache_key *key,
                  uint64_t offset)
{
    const struct object *object = find_object(cache, key);

    if (!cache->names || !object || offset >> OFFSET_BITS)
        return NULL;
    return names_find(cache->names, compose(cache, object, offset));
}

static int
add(struct names *names, uint64_t place, const struct location *location)
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
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!cache->names)
            empty(cache);
        object = find_or_add_object(cache, key);
        if (!object)
            return;
        object->placed |= location->frames[0].file[0] != '\0';
        if (cache->names &&
            add(cache->names, compose(cache, object, offset), location) == 0)
            return;
        empty(cache);
    }
}
