/* memory_map.c - see memory_map.h. */
#include "memory_map.h"

#include "arena.h"
#include "clean_text.h"
#include "memory.h"

enum { FIRST_CAPACITY = 1024 };

struct memory_map *
memory_map_new(void)
{
    struct memory_map *map = mem_zalloc(1, sizeof(*map));

    if (!map)
        return NULL;
    map->references = 1;
    map->remark = map->rest.name = map->rest.owner = map->rest.evidence = "";
    map->arena = arena_new(MEMORY_MAP_BYTES_MAX);
    if (map->arena)
        return map;
    mem_free(map);
    return NULL;
}

struct memory_range *
memory_map_add(struct memory_map *map)
{
    struct memory_range *list;
    size_t room = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;

    if (map->count == map->capacity) {
        if (map->capacity >= MEMORY_MAP_MAX)
            return NULL;
        list = mem_realloc(map->list, room * sizeof(*list));
        if (!list)
            return NULL;
        map->list = list;
        map->capacity = room;
    }
    map->list[map->count] =
        (struct memory_range){.name = "", .owner = "", .evidence = ""};
    return &map->list[map->count++];
}

const char *
memory_map_text(struct memory_map *map, const char *text, size_t size)
{
    char *copy;

    if (size > RANGE_NAME_MAX)
        size = RANGE_NAME_MAX;
    copy = size > 0 ? arena_alloc(map->arena, size + 1) : NULL;
    if (!copy)
        return "";
    clean_text((struct span){text, size}, copy);
    return copy;
}

const char *
range_kind_name(enum range_kind kind)
{
    static const char *const words[] = {[RANGE_FOREIGN] = "foreign anonymous",
                                        [RANGE_JEMALLOC] = "jemalloc",
                                        [RANGE_GLIBC] = "glibc malloc",
                                        [RANGE_STACK] = "thread stack",
                                        [RANGE_FILE] = "file",
                                        [RANGE_SHARED] = "shared memory",
                                        [RANGE_VDSO] = "vdso",
                                        [RANGE_PAGE_TABLES] = "page tables",
                                        [RANGE_KERNEL] = "kernel",
                                        [RANGE_OTHERS] = "others",
                                        [RANGE_UNKNOWN] = "unknown"};

    return words[kind];
}

bool
memory_range_is_anonymous(const struct memory_range *range)
{
    return range->bare && range->permissions[1] == 'w' &&
           range->permissions[3] == 'p' && range->rss > 0 &&
           range->end <= INT64_MAX && range->size <= RANGE_SEARCHED_MAX;
}

struct memory_map *
memory_map_ref(struct memory_map *map)
{
    atomic_fetch_add_explicit(&map->references, 1, memory_order_relaxed);
    return map;
}

void
memory_map_unref(struct memory_map *map)
{
    if (!map || atomic_fetch_sub_explicit(&map->references, 1,
                                          memory_order_acq_rel) > 1)
        return;
    arena_free(map->arena);
    mem_free(map->list);
    mem_free(map);
}
