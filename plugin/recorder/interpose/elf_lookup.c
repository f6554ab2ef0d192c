/*
 * elf_lookup.c - see elf_lookup.h.
 *
 * dlsym(RTLD_NEXT) does the same, but takes the loader's lock and may allocate:
 * inside malloc the one could deadlock and the other recurse.  So the loader's
 * list (_r_debug) and the objects' hash tables are read as they lie in memory.
 * Nothing is written, and every table is the loader's own, so it is trusted.
 */
#include "elf_lookup.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { VERSION_HIDDEN = 0x8000 };

struct symbols {
    const ElfW(Sym) * table;
    const char *texts;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *versions;
};

const struct link_map *
elf_own_map(void)
{
    const struct link_map *map = _r_debug.r_map;

    while (map && map->l_ld != _DYNAMIC)
        map = map->l_next;
    return map;
}

/* glibc adds the load address to these entries in place, but not in the vDSO's,
 * which is read-only. */
static const void *
table_at(const struct link_map *map, ElfW(Addr) address)
{
    if (address < map->l_addr)
        address += map->l_addr;
    return (const void *)address; // NOLINT(performance-no-int-to-ptr)
}

static bool
find_symbol_tables(const struct link_map *map, struct symbols *s)
{
    memset(s, 0, sizeof(*s));
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            s->table = table_at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            s->texts = table_at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            s->gnu_hash = table_at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_HASH)
            s->hash = table_at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_VERSYM)
            s->versions = table_at(map, d->d_un.d_ptr);
    }
    return s->table && s->texts && (s->gnu_hash || s->hash);
}

static bool
is_function(const struct symbols *s, uint32_t i, const char *name)
{
    const ElfW(Sym) *symbol = &s->table[i];
    unsigned type = symbol->st_info & 0xf, bind = symbol->st_info >> 4;

    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           (type == STT_FUNC || type == STT_NOTYPE) &&
           (bind == STB_GLOBAL || bind == STB_WEAK) &&
           !(s->versions && s->versions[i] & VERSION_HIDDEN) &&
           strcmp(s->texts + symbol->st_name, name) == 0;
}

/* DT_HASH of the System V gABI: counts, buckets, chains by symbol. */
static uint32_t
find_by_hash(const struct symbols *s, const char *name)
{
    uint32_t h = 0, buckets = s->hash[0], i;

    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        h = (h << 4) + *c;
        h = (h ^ (h >> 24 & 0xf0)) & 0xfffffff;
    }
    if (buckets == 0)
        return 0;
    for (i = s->hash[2 + h % buckets]; i != 0; i = s->hash[2 + buckets + i]) {
        if (is_function(s, i, name))
            return i;
    }
    return 0;
}

/* DT_GNU_HASH: header, Bloom filter (skipped), buckets, and hashes whose lowest
 * bit ends a chain. */
static uint32_t
find_by_gnu_hash(const struct symbols *s, const char *name)
{
    const uint32_t *table = s->gnu_hash;
    uint32_t h = 5381, count = table[0], first = table[1];
    const uint32_t *buckets =
        table + 4 + (size_t)table[2] * (sizeof(ElfW(Addr)) / sizeof(*table));
    const uint32_t *hashes = buckets + count;
    uint32_t i;

    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        h = h * 33 + *c;
    if (count == 0)
        return 0;
    i = buckets[h % count];
    if (i < first)
        return 0;
    for (;; i++) {
        if ((hashes[i - first] | 1) == (h | 1) && is_function(s, i, name))
            return i;
        if (hashes[i - first] & 1)
            return 0;
    }
}

void *
elf_lookup(const struct link_map *map, const char *name,
           const struct link_map **where)
{
    for (map = map ? map->l_next : NULL; map; map = map->l_next) {
        struct symbols s;
        uint32_t i;

        if (!find_symbol_tables(map, &s))
            continue;
        i = s.gnu_hash ? find_by_gnu_hash(&s, name) : find_by_hash(&s, name);
        if (i == 0)
            continue;
        *where = map;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        return (void *)(map->l_addr + s.table[i].st_value);
    }
    return NULL;
}
