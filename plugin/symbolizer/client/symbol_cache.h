/*
 * symbol_cache.h - the names of known objects' addresses.
 *
 * Keyed by the object (build-id, else device, inode, time and size) and the
 * offset in its file, so it outlives processes and restarts.  When full it is
 * emptied, and fills again with what is needed.
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
    CACHE_BYTES = 64 << 20, /* of texts; each table has the same limit */
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

/* Of an object with its headers read; size 0 if it has no identity. */
struct cache_key cache_key_of(const struct elf_file *elf);

/*
 * Why an object's DWARF is not to be read for now, because it was too much for
 * the symboliser; else NULL.  Once the time is over, the object is forgotten.
 */
const char *symbol_cache_degraded(struct symbol_cache *cache,
                                  const struct cache_key *key);
void symbol_cache_degrade(struct symbol_cache *cache,
                          const struct cache_key *key, const char *why);

/* What to report with the object's names: "" at first, and for a degraded one.
 */
const char *symbol_cache_remark(struct symbol_cache *cache,
                                const struct cache_key *key);
/* indexed: the remark holds although the object had a symbol index. */
void symbol_cache_set_remark(struct symbol_cache *cache,
                             const struct cache_key *key, const char *remark,
                             bool indexed);

/* Whether an index would make its names better. */
bool symbol_cache_is_poor(struct symbol_cache *cache,
                          const struct cache_key *key);
/* It has an index now: forgets names and remark; it stays degraded. */
void symbol_cache_renew(struct symbol_cache *cache,
                        const struct cache_key *key);

/* Counts changes of anything that was known. */
uint64_t symbol_cache_changes(const struct symbol_cache *cache);

/* NULL: not known, or not yet. */
const struct location *symbol_cache_find(struct symbol_cache *cache,
                                         const struct cache_key *key,
                                         uint64_t offset);

/* Adds it if there is room; otherwise empties the cache. */
void symbol_cache_add(struct symbol_cache *cache, const struct cache_key *key,
                      uint64_t offset, const struct location *location);

#endif
