/*
 * map_pages.c - see map_pages.h.
 *
 * An entry says whether its page is in memory, swapped out, and a file's or
 * anonymous (Documentation/admin-guide/mm/pagemap.rst); not whether it is
 * dirty.  A page of zeros that was read and never written counts here, and not
 * in smaps; huge pages of hugetlbfs count in neither, as they have no part in
 * rss.
 */
#include "map_pages.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "files.h"
#include "map_peek.h"
#include "map_source.h"
#include "memory.h"
#include "memory_map.h"
#include "process_memory.h"
#include "stats.h"

enum {
    ENTRIES_TOGETHER = 4096,      /* of 16 MB, 32 KB in size */
    COUNT_MS = 10000,             /* for all of it, at most */
    RESERVE_PAGES_MAX = 32 << 20, /* 128 GB: a larger one is left out */
    /* 1 GB: a larger one without access comes last */
    CLOSED_PAGES_MAX = 1 << 18,
    HUGE_PAGE = 2 << 20 /* the smallest */
};

#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

static bool
is_range_countable(const struct memory_range *range)
{
    static const char *const huge[] = {"/anon_hugepage", "/dev/hugepages/"};

    for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++)
        if (strncmp(range->name, huge[i], strlen(huge[i])) == 0)
            return false;
    return range->end <= INT64_MAX; /* not the kernel's half */
}

static bool
is_range_large(const struct memory_range *range)
{
    return range->size / MAP_PAGE > RESERVE_PAGES_MAX;
}

static bool
is_range_inaccessible(const struct memory_range *range)
{
    return memcmp(range->permissions, "---", 3) == 0;
}

/* It takes long, or is likely to be empty: such must not use up the time that
 * others need. */
static bool
comes_last(const struct memory_range *range)
{
    return is_range_large(range) || (is_range_inaccessible(range) &&
                                     range->size / MAP_PAGE > CLOSED_PAGES_MAX);
}

/* Leaves out what nobody can use, and what may consist of hugetlbfs pages,
 * which have no part in rss and whose entries look like others'. */
static bool
is_left_out(const struct memory_range *range, bool has_huge)
{
    return (is_range_large(range) && is_range_inaccessible(range)) ||
           (has_huge && *range->name == '/' && range->start % HUGE_PAGE == 0 &&
            range->size % HUGE_PAGE == 0);
}

static void
count_entries(const uint64_t *entries, size_t count, struct memory_range *range)
{
    for (size_t i = 0; i < count; i++) {
        bool present = entries[i] & MAP_PAGE_PRESENT;

        range->rss += present ? MAP_PAGE : 0;
        range->anonymous +=
            present && !(entries[i] & PAGE_OF_FILE) ? MAP_PAGE : 0;
        range->swap += entries[i] & PAGE_SWAPPED ? MAP_PAGE : 0;
    }
}

/* False if the time is over: half a count would be a wrong figure. */
static bool
count_range(int pagemap, uint64_t until_ms, uint64_t *entries,
            struct memory_range *range)
{
    uint64_t pages;
    size_t want;
    ssize_t n;

    for (uint64_t at = range->start; at < range->end;
         at += (uint64_t)n / sizeof(*entries) * MAP_PAGE) {
        pages = (range->end - at) / MAP_PAGE;
        want = pages < ENTRIES_TOGETHER ? (size_t)pages : ENTRIES_TOGETHER;
        n = pread(pagemap, entries, want * sizeof(*entries),
                  (off_t)(at / MAP_PAGE * sizeof(*entries)));
        if (n < (ssize_t)sizeof(*entries))
            break; /* it was unmapped meanwhile */
        count_entries(entries, (size_t)n / sizeof(*entries), range);
        if (clock_ms() > until_ms) {
            range->rss = range->anonymous = range->swap = 0;
            return false;
        }
    }
    return true;
}

static void
set_counted_pages_note(struct memory_map *map, size_t left_out, uint64_t bytes)
{
    char text[320], more[96] = "";

    if (left_out > 0)
        snprintf(more, sizeof(more),
                 "; of %zu mappings (%" PRIu64 " MB of addresses) rss is not "
                 "known",
                 left_out, bytes >> 20);
    snprintf(text, sizeof(text),
             "it has %d GB or more in memory: its pages were counted in "
             "pieces, so that its own mmap need not wait, and how many are "
             "dirty is not known%s",
             MAP_SMAPS_GB, more);
    map->remark = memory_map_text(map, text, strlen(text));
}

/* Counts all ranges in two passes, see comes_last().  The mappings past
 * MEMORY_MAP_MAX get what is left of rss, if all others could be counted. */
static void
count_ranges(int pagemap, bool has_huge, uint64_t rss, uint64_t *entries,
             struct memory_map *map)
{
    uint64_t until_ms = clock_ms() + COUNT_MS, sum = 0, bytes = 0;
    size_t left_out = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < map->count; i++) {
            struct memory_range *range = &map->list[i];

            if (!is_range_countable(range) || comes_last(range) != (pass == 1))
                continue;
            range->uncounted = is_left_out(range, has_huge) ||
                               !count_range(pagemap, until_ms, entries, range);
            left_out += range->uncounted;
            bytes += range->uncounted ? range->size : 0;
            sum += range->rss;
        }
    map->rest.uncounted = left_out > 0;
    if (map->rest_count > 0 && left_out == 0 && rss > sum)
        map->rest.rss = rss - sum;
    map->not_dirty = true;
    set_counted_pages_note(map, left_out, bytes);
}

int
map_pages_count(pid_t pid, uint64_t rss, struct memory_map *map,
                struct error *err)
{
    uint64_t *entries = mem_alloc(ENTRIES_TOGETHER * sizeof(*entries));
    char path[64];
    int pagemap;

    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (!entries)
        error_memory(err, "the entries of pages");
    else if (pagemap < 0)
        error_sys(err, ER_UNKNOWN, "cannot read %s", path);
    else
        count_ranges(pagemap, process_memory_huge(pid).value > 0, rss, entries,
                     map);
    fd_close(pagemap);
    mem_free(entries);
    return entries && pagemap >= 0 ? 0 : -1;
}
