/*
 * map_owners.c - see map_owners.h.
 *
 * Most mappings have a name.  What has none is one or several neighbours'
 * memory: the kernel joins anonymous mappings of equal permissions, whoever
 * asked for them.  So stretches are looked for that something identifies: a
 * thread's stack pointer, jemalloc's metadata, the headers of glibc's malloc.
 * What is left is judged by its address (behind a file's data, above a guard
 * page), and else is the program's own.
 *
 * Where a mapping is divided, the pages of each piece are counted, so that the
 * pieces' rss add up to the mapping's.  Runs on a thread of the controller, for
 * one statement; reads up to 512 MB of the process, and never writes to it.
 */
#include "map_owners.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "glibc_blocks.h"
#include "jemalloc_extents.h"
#include "map_peek.h"
#include "memory.h"
#include "memory_map.h"
#include "parts.h"
#include "search.h"

enum {
    GUARD_MAX = 1 << 20,
    /* A smaller hole between two extents is jemalloc's, too: the extent there
     * was changed while metadata were read. */
    SLACK = 2 << 20,
    COUNTED_TOGETHER = 512
};

#define EVIDENCE_NAME "its name"

struct owners {
    struct memory_map *map;
    const struct map_hints *hints;
    struct memory_range *from; /* the list as it came */
    size_t from_count;
    struct parts parts;
    bool extents; /* all of jemalloc's are known */
    uint64_t stack_size;
    size_t uncounted_pages; /* how many may still be counted */
};

/* ---- by name ---- */

static const struct {
    const char *prefix;
    enum range_kind kind;
    const char *owner; /* NULL: what follows the prefix; "": the whole name */
} names[] = {
    {"[heap]", RANGE_GLIBC, "the first arena (brk)"},
    {"[stack", RANGE_STACK, "the main thread"},
    {"[vdso]", RANGE_VDSO, ""},
    {"[vvar", RANGE_VDSO, ""},
    {"[vsyscall]", RANGE_VDSO, ""},
    {"[uprobes]", RANGE_VDSO, ""},
    {"[anon:jemalloc", RANGE_JEMALLOC, ""},
    {"[anon: glibc: pthread stack", RANGE_STACK, ""},
    {"[anon: glibc:", RANGE_GLIBC, ""},
    {"[anon:", RANGE_FOREIGN, ""},
    {"[anon_shmem:", RANGE_SHARED, ""},
    {"/memfd:heapwire", RANGE_SHARED, "heapwire"},
    {"/memfd:", RANGE_SHARED, NULL},
    {"/dev/shm/", RANGE_SHARED, ""},
    {"/SYSV", RANGE_SHARED, ""},
    {"/dev/zero", RANGE_SHARED, "without a name"},
    {"/anon_hugepage", RANGE_FOREIGN, "huge pages (not in rss)"},
    {"/[aio]", RANGE_KERNEL, ""},
    {"anon_inode:", RANGE_KERNEL, ""},
    {"[", RANGE_KERNEL, ""},
};

/* False: it has no name. */
static bool
judge_by_name(struct owners *o, struct memory_range *range)
{
    const char *name = range->name;

    if (!*name)
        return false;
    range->kind = RANGE_FILE;
    range->owner = name;
    range->evidence = EVIDENCE_NAME;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t size = strlen(names[i].prefix);

        if (strncmp(name, names[i].prefix, size) != 0)
            continue;
        range->kind = names[i].kind;
        range->owner = !names[i].owner   ? name + size
                       : *names[i].owner ? names[i].owner
                                         : name;
        break;
    }
    if (strcmp(name, "[stack]") == 0)
        range->tid = o->hints->pid;
    return true;
}

/* ---- stacks ---- */

/* How many threads have their stack pointer in the range; *first is the
 * lowest. */
static size_t
count_threads_in(const struct owners *o, const struct memory_range *range,
                 const struct map_thread **first)
{
    const struct map_hints *hints = o->hints;
    size_t low = 0, high;

    if (hints->thread_count == 0)
        return 0;
    if (range->start > 0)
        low = SEARCH_ABOVE(hints->threads, hints->thread_count, sp,
                           range->start - 1);
    high =
        SEARCH_ABOVE(hints->threads, hints->thread_count, sp, range->end - 1);
    *first = &hints->threads[low];
    return high - low;
}

static bool
is_guard(const struct memory_range *before, const struct memory_range *range)
{
    return before->bare && memcmp(before->permissions, "---p", 4) == 0 &&
           before->end == range->start && before->size <= GUARD_MAX;
}

/* The size that most stacks of one thread have: other mappings may have been
 * joined with neighbours.  If no two agree, the limit's default. */
static uint64_t
usual_stack_size(const struct owners *o)
{
    uint64_t *sizes = mem_zalloc(o->from_count + 1, sizeof(*sizes));
    uint64_t best = o->hints->stack_size;
    const struct map_thread *first;
    size_t count = 0, most = 1, run = 0;

    for (size_t i = 1; sizes && i < o->from_count; i++)
        if (o->from[i].bare && is_guard(&o->from[i - 1], &o->from[i]) &&
            count_threads_in(o, &o->from[i], &first) == 1)
            sizes[count++] = o->from[i].size;
    if (count > 0)
        qsort(sizes, count, sizeof(*sizes), compare_u64);
    for (size_t i = 0; i < count; i++) {
        run = i > 0 && sizes[i] == sizes[i - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = sizes[i];
        }
    }
    mem_free(sizes);
    return best;
}

static const char *
thread_text(struct owners *o, const struct map_thread *thread)
{
    return memory_map_text(o->map, thread->name,
                           strnlen(thread->name, sizeof(thread->name)));
}

static void
find_stacks(struct owners *o)
{
    const struct map_thread *first;

    for (size_t i = 0; i < o->from_count; i++) {
        struct memory_range *range = &o->from[i];
        struct part part = {.start = range->start,
                            .end = range->end,
                            .kind = RANGE_STACK,
                            .evidence = "a stack pointer"};
        size_t count;

        if (!range->bare || range->permissions[1] != 'w' ||
            (count = count_threads_in(o, range, &first)) == 0)
            continue;
        /* A stack lies at the lower end, above its guard page; what the kernel
         * joined to it lies above. */
        if (o->stack_size > 0 && range->size > o->stack_size &&
            first[count - 1].sp - range->start < o->stack_size)
            part.end = range->start + o->stack_size;
        part.tid = count == 1 ? first->tid : 0;
        part.owner = count == 1 ? thread_text(o, first) : "several threads";
        parts_add(&o->parts, &part);
    }
}

/* ---- what has no name ---- */

/* The file whose writable data end where the range begins (this is its .bss);
 * NULL: there is none. */
static const char *
find_data_before(const struct owners *o, const struct memory_range *range)
{
    const struct memory_range *at = range;

    while (at > o->from && at[-1].end == at->start && *at[-1].name == '/' &&
           at[-1].permissions[3] == 'p' &&
           (at == range || strcmp(at[-1].name, at->name) == 0)) {
        at--;
        if (at->permissions[1] == 'w')
            return at->name;
    }
    return NULL;
}

/* Judges a stretch that nothing identifies.  Order matters: a rule further down
 * holds for what the ones before leave. */
static void
judge_by_address(struct owners *o, const struct memory_range *whole,
                 struct memory_range *range)
{
    const struct memory_range *before = whole > o->from ? whole - 1 : NULL;
    const struct memory_range *after =
        whole + 1 < o->from + o->from_count ? whole + 1 : NULL;
    bool begins = range->start == whole->start;
    const char *file;

    range->kind = RANGE_FOREIGN;
    if (memcmp(range->permissions, "---", 3) == 0) {
        range->owner = "no access";
        range->evidence = "its permissions";
    } else if (begins && (file = find_data_before(o, whole))) {
        range->kind = RANGE_FILE;
        range->owner = file;
        range->evidence = "behind that file's data";
        /* Where the memory may be read, its header has been looked for. */
    } else if (!o->hints->peek && range->start % GLIBC_HEAP == 0 && after &&
               after->bare && after->start == range->end &&
               memcmp(after->permissions, "---p", 4) == 0 &&
               after->end % GLIBC_HEAP == 0) {
        range->kind = RANGE_GLIBC;
        range->owner = "an arena's heap";
        range->evidence = "its address";
    } else if (begins && before && is_guard(before, range) &&
               (o->stack_size == 0 || range->size <= o->stack_size)) {
        range->kind = RANGE_STACK;
        range->evidence = "a guard page below";
        /* Not all extents are known, so what is left is likely jemalloc's, if
         * it has that much. */
    } else if (o->hints->jemalloc && !o->extents &&
               (o->hints->jemalloc_most == 0 ||
                range->size <= o->hints->jemalloc_most)) {
        range->kind = RANGE_JEMALLOC;
        range->evidence = "presumed: it is the program's malloc";
    } else {
        range->owner =
            range->permissions[2] == 'x' ? "code made at run time" : "";
        range->evidence =
            o->hints->peek ? "no allocator's marks" : "no allocator presumed";
    }
}

/* Counts the bytes that are in memory; false: too many pages to count. */
static bool
count_present(struct owners *o, uint64_t start, uint64_t end, uint64_t *bytes)
{
    const struct map_peek *peek = o->hints->peek;
    uint64_t entries[COUNTED_TOGETHER];

    *bytes = 0;
    if (!peek || (end - start) / MAP_PAGE > o->uncounted_pages)
        return false;
    o->uncounted_pages -= (size_t)((end - start) / MAP_PAGE);
    while (start < end) {
        uint64_t pages = (end - start + MAP_PAGE - 1) / MAP_PAGE;
        size_t count =
            pages < COUNTED_TOGETHER ? (size_t)pages : COUNTED_TOGETHER;
        size_t got = peek->pages(peek->arg, start, entries, count);

        for (size_t i = 0; i < got; i++)
            *bytes += entries[i] & MAP_PAGE_PRESENT ? MAP_PAGE : 0;
        if (got < count)
            break; /* it was unmapped meanwhile */
        start += (uint64_t)count * MAP_PAGE;
    }
    return true;
}

/* A stretch of a range. */
struct piece {
    uint64_t start, end;
    const struct part *part; /* NULL: nothing is known of it */
};

/* The next stretch from at on. */
static struct piece
next_piece(const struct owners *o, const struct memory_range *range,
           uint64_t at)
{
    const struct parts *parts = &o->parts;
    size_t i = parts_find(parts, at);
    const struct part *part = i < parts->count ? &parts->list[i] : NULL;
    struct piece piece = {at, range->end, NULL};

    if (!part || part->start >= range->end)
        return piece;
    if (part->start > at) {
        piece.end = part->start;
        return piece;
    }
    piece.part = part;
    piece.end = part->end < range->end ? part->end : range->end;
    return piece;
}

static void
judge_piece(struct owners *o, const struct memory_range *whole,
            const struct piece *piece, struct memory_range *range)
{
    if (!piece->part) {
        judge_by_address(o, whole, range);
        return;
    }
    range->kind = piece->part->kind;
    range->owner = piece->part->owner;
    range->evidence = piece->part->evidence;
    range->tid = piece->part->tid;
}

static int
keep_memory_range(struct owners *o, const struct memory_range *range)
{
    struct memory_map *map = o->map;
    struct memory_range *new = memory_map_add(map);

    if (new) {
        *new = *range;
        return 0;
    }
    if (map->count < MEMORY_MAP_MAX)
        return -1;
    map->rest_count++;
    map->rest.size += range->size;
    map->rest.rss += range->rss;
    return 0;
}

/* Counts all pieces but the largest, which gets the rest of rss: so the
 * count stays small where small pieces lie in a large heap.  False: too many
 * pages. */
static bool
count_pieces(struct owners *o, const struct memory_range *whole,
             const struct piece *largest, uint64_t *left)
{
    struct piece piece;
    uint64_t bytes;

    *left = whole->rss;
    for (uint64_t at = whole->start; at < whole->end; at = piece.end) {
        piece = next_piece(o, whole, at);
        if (piece.start == largest->start)
            continue;
        if (!count_present(o, piece.start, piece.end, &bytes))
            return false;
        *left -= bytes < *left ? bytes : *left;
    }
    return true;
}

static struct piece
largest_piece(const struct owners *o, const struct memory_range *whole)
{
    struct piece piece, largest = {0};

    for (uint64_t at = whole->start; at < whole->end; at = piece.end) {
        piece = next_piece(o, whole, at);
        if (piece.end - piece.start > largest.end - largest.start)
            largest = piece;
    }
    return largest;
}

/* Adds bytes to a piece, at most what is left and what fits into it. */
static void
give_rss(struct memory_range *range, uint64_t bytes, uint64_t *left)
{
    uint64_t room = range->size - range->rss;

    if (bytes > room)
        bytes = room;
    if (bytes > *left)
        bytes = *left;
    range->rss += bytes;
    *left -= bytes;
}

static int
cut_range(struct owners *o, const struct memory_range *whole)
{
    struct piece piece, largest = largest_piece(o, whole);
    struct memory_range range = *whole;
    size_t first = o->map->count, pages = o->uncounted_pages;
    uint64_t rest, bytes, left = whole->rss;

    if (!count_pieces(o, whole, &largest, &rest)) {
        judge_piece(o, whole, &largest, &range);
        range.evidence = "its largest part: there is too much to count";
        return keep_memory_range(o, &range);
    }
    o->uncounted_pages = pages; /* the same pages are counted again below */
    range.part = true;
    range.dirty = range.anonymous = range.swap = 0;
    for (uint64_t at = whole->start; at < whole->end; at = piece.end) {
        piece = next_piece(o, whole, at);
        range.start = piece.start;
        range.end = piece.end;
        range.size = piece.end - piece.start;
        range.tid = 0;
        range.owner = "";
        judge_piece(o, whole, &piece, &range);
        range.rss = 0;
        if (piece.start == largest.start)
            bytes = rest;
        else
            (void)count_present(o, range.start, range.end, &bytes);
        give_rss(&range, bytes, &left);
        if (keep_memory_range(o, &range) != 0)
            return -1;
    }
    /* Pages may have come and gone between the kernel's figure and the count:
     * the remainder goes to pieces that have room. */
    for (size_t i = first; i < o->map->count && left > 0; i++)
        give_rss(&o->map->list[i], left, &left);
    o->map->rest.rss += left;
    return 0;
}

/* Joins extents of one mapping that are less than SLACK apart. */
static void
close_holes(struct owners *o)
{
    struct parts *parts = &o->parts;

    for (size_t i = 1; i < parts->count; i++) {
        struct part *a = &parts->list[i - 1], *b = &parts->list[i];
        size_t in = SEARCH_ABOVE(o->from, o->from_count, end, a->end - 1);

        if (b->start - a->end < SLACK && in < o->from_count &&
            b->start < o->from[in].end)
            a->end = b->start;
    }
    parts_sort(parts);
}

/* Whether the extents found are about all: at least 90 % of what jemalloc says
 * it has mapped.  An unknown version may lay out its metadata differently. */
static bool
is_all_of_jemalloc(const struct owners *o)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < o->parts.count; i++)
        bytes += o->parts.list[i].end - o->parts.list[i].start;
    return !o->hints->jemalloc ||
           (bytes > 0 && bytes >= o->hints->jemalloc_most / 10 * 9);
}

static void
find_owner_parts(struct owners *o)
{
    const struct map_peek *peek = o->hints->peek;
    struct memory_map as_it_came = {.list = o->from, .count = o->from_count};
    struct parts blocks = {0};

    if (peek) {
        o->extents = jemalloc_extents_find(&as_it_came, peek, &o->parts);
        parts_sort(&o->parts);
        close_holes(o);
        o->extents = o->extents && is_all_of_jemalloc(o);
    }
    /* After the extents: a stack that the program allocated by jemalloc stays
     * jemalloc's, as the first part has the place. */
    o->stack_size = usual_stack_size(o);
    find_stacks(o);
    if (peek) {
        glibc_heaps_find(&as_it_came, peek, &o->parts);
        parts_sort(&o->parts);
        glibc_blocks_find(&as_it_came, peek, &o->parts, !o->hints->jemalloc,
                          &blocks);
        for (size_t i = 0; i < blocks.count; i++)
            parts_add(&o->parts, &blocks.list[i]);
        parts_fini(&blocks);
    }
    parts_sort(&o->parts);
}

/* A mapping without a name: divided if several own it and it has pages. */
static int
judge_bare(struct owners *o, const struct memory_range *whole)
{
    struct piece piece = next_piece(o, whole, whole->start);
    struct memory_range range = *whole;

    if (piece.end < whole->end && whole->rss > 0)
        return cut_range(o, whole);
    judge_piece(o, whole, &piece, &range);
    return keep_memory_range(o, &range);
}

/* Gives mappings without access to their neighbours: a guard page to the stack
 * above it, the reserved end of an arena's heap to that heap. */
static void
name_reserves(struct memory_map *map)
{
    for (size_t i = 1; i < map->count; i++) {
        struct memory_range *below = &map->list[i - 1], *above = below + 1;
        struct memory_range *reserve = NULL, *of = NULL;

        if (above->kind == RANGE_STACK && is_guard(below, above)) {
            reserve = below;
            of = above;
        } else if (below->kind == RANGE_GLIBC && above->bare &&
                   memcmp(above->permissions, "---", 3) == 0 &&
                   below->end == above->start && above->end % GLIBC_HEAP == 0) {
            reserve = above;
            of = below;
        }
        if (!reserve)
            continue;
        reserve->kind = of->kind;
        reserve->owner = of->owner;
        reserve->tid = of->tid;
        reserve->evidence = of->evidence;
    }
}

int
map_owners_find(struct memory_map *map, const struct map_hints *hints,
                struct error *err)
{
    struct owners o = {.map = map,
                       .hints = hints,
                       .from = map->list,
                       .from_count = map->count,
                       .uncounted_pages = MAP_COUNTED_MAX};
    int rc = 0;

    map->list = NULL;
    map->count = map->capacity = 0;
    find_owner_parts(&o);
    for (size_t i = 0; i < o.from_count && rc == 0; i++) {
        struct memory_range *range = &o.from[i];

        rc = judge_by_name(&o, range) || !range->bare
                 ? keep_memory_range(&o, range)
                 : judge_bare(&o, range);
    }
    if (rc == 0)
        name_reserves(map);
    else
        error_memory(err, "the list of mappings");
    parts_fini(&o.parts);
    mem_free(o.from);
    return rc;
}
