/*
 * symbol_cache.h - what addresses of known objects are called.
 *
 * Keyed by the object (build-id, else device, inode, time and size) and the
 * offset in its file, so that it outlives processes and restarts.  Full, it is
 * emptied: what is needed fills it again.
 */
#ifndef HW_SYMBOL_CACHE_H
#define HW_SYMBOL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct location;
struct symbol_cache;

enum {
    CACHE_BYTES = 64 << 20, /* texts; each table is held to it as well */
    CACHE_OBJECTS = 1024,
    CACHE_KEY_MAX = 64,
    CACHE_WHY_MAX = 160,
    CACHE_DEGRADED_MS = 10 * 60 * 1000
};

struct cache_key {
    uint8_t bytes[CACHE_KEY_MAX];
    size_t size;
};

struct symbol_cache *symbol_cache_new(void);        /* NULL: out of memory */
void symbol_cache_free(struct symbol_cache *cache); /* NULL is fine */

/* Of an object with its headers read; size 0 when it cannot be told. */
struct cache_key cache_key_of(const struct elf_file *elf);

/*
 * An object whose DWARF was too much for the symboliser: why, for as long as
 * it is not to be tried again; NULL otherwise.  Afterwards all of it is
 * forgotten.
 */
const char *symbol_cache_degraded(struct symbol_cache *cache,
                                  const struct cache_key *key);
void symbol_cache_degrade(struct symbol_cache *cache,
                          const struct cache_key *key, const char *why);

/* What is to be said of the names that it has: "" at first, and of one that
 * is degraded. */
const char *symbol_cache_remark(struct symbol_cache *cache,
                                const struct cache_key *key);
/* indexed: although it had a symbol index. */
void symbol_cache_set_remark(struct symbol_cache *cache,
                             const struct cache_key *key, const char *remark,
                             bool indexed);

/* Whether its names are the worse for the lack of an index. */
bool symbol_cache_is_poor(struct symbol_cache *cache,
                          const struct cache_key *key);
/* It has one now: names and remark are forgotten; it stays degraded. */
void symbol_cache_renew(struct symbol_cache *cache,
                        const struct cache_key *key);

/* How often something that was known became otherwise. */
uint64_t symbol_cache_changes(const struct symbol_cache *cache);

/* NULL: not known (yet). */
const struct location *symbol_cache_find(struct symbol_cache *cache,
                                         const struct cache_key *key,
                                         uint64_t offset);

/* Remembers, if there is room; forgets everything else when there is not. */
void symbol_cache_add(struct symbol_cache *cache, const struct cache_key *key,
                      uint64_t offset, const struct location *location);

#endif
