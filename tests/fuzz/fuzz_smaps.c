/*
 * fuzz_smaps.c - any bytes as the text of smaps, and, behind a NUL, as an
 * agent's list of threads.
 *
 * Whatever comes: pieces give what the whole gives, places ascend, no figure
 * exceeds its mapping, and owners change neither the bytes in memory nor their
 * number.
 */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "fuzz_target.h"
#include "map_owners.h"
#include "map_peek.h"
#include "mapping_line.h"
#include "memory_map.h"
#include "smaps.h"
#include "task_text.h"

enum { THREADS = 64 };

static void
demand(bool holds)
{
    if (!holds)
        abort();
}

/* Its memory is the input itself, over and over. */
struct input {
    const uint8_t *data;
    size_t size;
};

static size_t
read_input(void *arg, uint64_t at, void *out, size_t size)
{
    const struct input *input = arg;
    uint8_t *bytes = out;

    for (size_t i = 0; i < size; i++)
        bytes[i] = input->size ? input->data[(at + i) % input->size] : 0;
    return size;
}

static size_t
give_pages(void *arg, uint64_t at, uint64_t *out, size_t count)
{
    (void)arg;
    for (size_t i = 0; i < count; i++)
        out[i] = (at / MAP_PAGE + i) % 3 ? MAP_PAGE_PRESENT : 0;
    return count;
}

static struct memory_map *
parse(struct span text, size_t piece)
{
    struct memory_map *map = memory_map_new();
    struct smaps smaps;
    size_t end = 0, at = 0;

    demand(map != NULL);
    smaps_begin(&smaps, map);
    while (end < text.size) {
        end = piece < text.size - end ? end + piece : text.size;
        at += smaps_take(&smaps, (struct span){text.data + at, end - at});
    }
    return map;
}

static uint64_t
check(const struct memory_map *map)
{
    uint64_t last = 0, rss = map->rest.rss;

    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *r = &map->list[i];

        demand(r->start >= last && r->end > r->start);
        demand(r->size == r->end - r->start && r->rss <= r->size);
        demand(r->dirty <= r->size && r->swap <= r->size);
        demand(strlen(r->name) <= RANGE_NAME_MAX && r->owner && r->evidence);
        demand(range_kind_name(r->kind) != NULL);
        last = r->end;
        rss += r->rss;
    }
    return rss;
}

/* A search of memory takes its time with what is large. */
static bool
is_small(const struct memory_map *map)
{
    uint64_t size = 0;

    for (size_t i = 0; i < map->count; i++)
        if (map->list[i].end <= INT64_MAX)
            size += map->list[i].size >> 12;
    return size < 16384;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0, size);
    struct span text = {(const char *)data, end ? (size_t)(end - data) : size};
    struct span tasks = {(const char *)data + text.size, size - text.size};
    struct memory_map *map = parse(text, text.size + 1),
                      *pieces = parse(text, 7);
    struct input input = {data, size};
    const struct map_peek peek = {read_input, give_pages, &input};
    struct map_thread threads[THREADS];
    struct map_hints hints = {.threads = threads, .jemalloc = size % 2};
    struct error err;
    uint64_t rss = check(map);

    demand(text.size > MAPPING_LINE_MAX || pieces->count == map->count);
    hints.thread_count = task_text_parse(tasks, threads, THREADS);
    for (size_t i = 1; i < hints.thread_count; i++)
        if (threads[i].sp < threads[i - 1].sp)
            threads[i].sp = threads[i - 1].sp; /* they ascend */
    if (is_small(map))
        hints.peek = &peek;
    demand(map_owners_find(map, &hints, &err) == 0);
    demand(check(map) == rss);
    memory_map_unref(map);
    memory_map_unref(pieces);
    return 0;
}
