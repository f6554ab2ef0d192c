/*
 * map_source.c - see map_source.h.
 *
 * There are three ways to the figures.  smaps has them all, but the kernel
 * holds the memory map for as long as it walks one mapping, so it is for small
 * processes only.  maps with pagemap holds it for 2 MB at a time.  Where
 * neither may be opened, the agent reads smaps within the database and hands
 * the text over.  Memory itself is read by process_vm_readv(), only to find
 * allocators' marks, and only pages that pagemap says are present.
 *
 * Runs on a thread of the controller (mappings_take.c) with no lock held: any
 * of these reads may hang with the database.
 */
#include "map_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "confined.h"
#include "errors.h"
#include "files.h"
#include "map_owners.h"
#include "map_pages.h"
#include "map_peek.h"
#include "mapping_line.h"
#include "memory.h"
#include "memory_map.h"
#include "process_memory.h"
#include "smaps.h"
#include "task_text.h"

enum {
    READ_TOGETHER = 1 << 18,
    MAPS_TEXT_BYTES = READ_TOGETHER + MAPPING_LINE_MAX + 1,
    SMALL_FILE = 1 << 16,
    /* reads of a thread's syscall file, to meet it while it waits */
    RUNNING_TRIES = 3
};

/* ---- the text ---- */

uint64_t
map_source_large_bytes(pid_t pid)
{
    struct stats stats = {0};

    process_memory_read_at(pid, NULL, &stats);
    return stats.rss.known && stats.rss.value >> 30 >= MAP_SMAPS_GB &&
                   sysconf(_SC_PAGESIZE) == MAP_PAGE
               ? stats.rss.value
               : 0;
}

int
map_source_open(struct map_source *source)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)source->pid,
             source->too_large_bytes ? "maps" : "smaps");
    source->smaps = open(path, O_RDONLY | O_CLOEXEC);
    return source->smaps >= 0 ? 0 : -1;
}

/* Reads and parses by pieces of 256 KB: the whole text may have 70 MB. */
static int
read_pieces(int fd, struct memory_map *map, struct error *err)
{
    struct smaps smaps;
    struct buffer text;
    ssize_t n = -1;
    char *room;

    smaps_begin(&smaps, map);
    buffer_init(&text, MAPS_TEXT_BYTES);
    while ((room = buffer_reserve(&text, READ_TOGETHER))) {
        n = read(fd, room, READ_TOGETHER);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        buffer_claim(&text, (size_t)n);
        buffer_drop_front(
            &text, smaps_take(&smaps, (struct span){text.data, text.size}));
    }
    if (!room || smaps.no_memory)
        error_memory(err, "the list of mappings");
    else if (n < 0)
        error_sys(err, ER_UNKNOWN, "cannot read what the database has mapped");
    buffer_fini(&text);
    return room && n == 0 && !smaps.no_memory ? 0 : -1;
}

static int
read_source_mappings(const struct map_source *source, struct memory_map *map,
                     struct error *err)
{
    struct smaps smaps;

    if (source->smaps >= 0)
        return read_pieces(source->smaps, map, err) != 0 ? -1
               : source->too_large_bytes
                   ? map_pages_count(source->pid, source->too_large_bytes, map,
                                     err)
                   : 0;
    map->by_agent = true;
    map->cut = source->cut;
    smaps_begin(&smaps, map);
    smaps_take(&smaps, source->text);
    if (smaps.no_memory)
        error_memory(err, "the list of mappings");
    return smaps.no_memory ? -1 : 0;
}

struct memory_map *
map_source_ranges(pid_t pid)
{
    struct memory_map *map = memory_map_new();
    struct error ignored;
    char path[64];
    int fd, rc = -1;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (map && fd >= 0)
        rc = read_pieces(fd, map, &ignored);
    fd_close(fd);
    if (rc == 0)
        return map;
    memory_map_unref(map);
    return NULL;
}

/* ---- threads ---- */

static size_t
read_small(pid_t pid, const char *tid, const char *name, char *out, size_t size)
{
    char path[320];
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        n = read(fd, out, size);
    fd_close(fd);
    return n > 0 ? (size_t)n : 0;
}

static void
read_thread(pid_t pid, const char *tid, struct map_thread *out)
{
    char text[256];
    size_t size =
        read_small(pid, tid, "comm", out->name, sizeof(out->name) - 1);

    if (size > 0 && out->name[size - 1] == '\n')
        size--;
    out->name[size] = '\0';
    out->tid = (int32_t)strtol(tid, NULL, 10);
    for (int i = 0; i < RUNNING_TRIES && out->sp == 0; i++) {
        size = read_small(pid, tid, "syscall", text, sizeof(text));
        out->sp = task_text_sp((struct span){text, size});
    }
}

static size_t
read_map_threads(pid_t pid, struct map_thread *list)
{
    char path[64];
    struct dirent *entry;
    size_t count = 0;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this one */
    while (tasks && count < MAP_THREADS_MAX && (entry = readdir(tasks)))
        if (entry->d_name[0] != '.')
            read_thread(pid, entry->d_name, &list[count++]);
    if (tasks)
        closedir(tasks);
    return count;
}

/* The soft limit, from "Max stack size 8388608 unlimited bytes", which
 * pthread_create() takes as default; 0: unlimited or unknown. */
static uint64_t
read_stack_size(pid_t pid)
{
    static const char key[] = "Max stack size";
    char text[4096], *at;
    ssize_t n = -1;
    int fd;

    snprintf(text, sizeof(text), "/proc/%d/limits", (int)pid);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        n = read(fd, text, sizeof(text) - 1);
    fd_close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, key);
    return at ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
}

static int
compare_sps(const void *left, const void *right)
{
    const struct map_thread *a = left, *b = right;

    return (a->sp > b->sp) - (a->sp < b->sp);
}

/* ---- its memory ---- */

struct peeked {
    pid_t pid;
    int pagemap;
};

static size_t
peek_read(void *arg, uint64_t at, void *out, size_t size)
{
    struct peeked *p = arg;
    struct iovec to = {out, size};
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): that process's */
    struct iovec from = {(void *)(uintptr_t)at, size};
    ssize_t n = process_vm_readv(p->pid, &to, 1, &from, 1, 0);

    return n > 0 ? (size_t)n : 0;
}

static size_t
peek_pages(void *arg, uint64_t at, uint64_t *out, size_t count)
{
    struct peeked *p = arg;
    ssize_t n = pread(p->pagemap, out, count * sizeof(*out),
                      (off_t)(at / MAP_PAGE * sizeof(*out)));

    return n > 0 ? (size_t)n / sizeof(*out) : 0;
}

/* Whether its memory may be read: permission is tried on one byte that is
 * there.  Pages of another size than 4 KB are not supported. */
static bool
open_peek(pid_t pid, const struct memory_map *map, struct peeked *out)
{
    char path[64];
    uint64_t entry;
    uint8_t byte;

    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    *out = (struct peeked){pid, -1};
    if (pid == 0 || map->count == 0 || sysconf(_SC_PAGESIZE) != MAP_PAGE ||
        !confined_spares(CONFINED_PTRACE))
        return false;
    out->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (out->pagemap < 0)
        return false;
    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];

        if (range->rss > 0 && range->permissions[0] == 'r' &&
            range->end <= INT64_MAX &&
            peek_pages(out, range->start, &entry, 1) == 1 &&
            entry & MAP_PAGE_PRESENT)
            return peek_read(out, range->start, &byte, 1) == 1;
    }
    return false;
}

static int
find_owners(const struct map_source *source, struct memory_map *map,
            struct error *err)
{
    struct map_hints hints = {.pid = source->pid,
                              .jemalloc = source->jemalloc,
                              .jemalloc_most = source->jemalloc_most};
    struct map_peek peek = {peek_read, peek_pages, NULL};
    struct peeked peeked = {0, -1};
    int rc = -1;

    hints.threads = mem_zalloc(MAP_THREADS_MAX, sizeof(*hints.threads));
    if (!hints.threads) {
        error_memory(err, "the list of threads");
        return -1;
    }
    if (source->smaps >= 0) {
        hints.thread_count = read_map_threads(source->pid, hints.threads);
        hints.stack_size = read_stack_size(source->pid);
        peek.arg = &peeked;
        if (open_peek(source->pid, map, &peeked))
            hints.peek = &peek;
    } else {
        hints.thread_count =
            task_text_parse(source->threads, hints.threads, MAP_THREADS_MAX);
        if (source->pid != 0)
            hints.stack_size = read_stack_size(source->pid);
    }
    qsort(hints.threads, hints.thread_count, sizeof(*hints.threads),
          compare_sps);
    rc = map_owners_find(map, &hints, err);
    fd_close(peeked.pagemap);
    mem_free(hints.threads);
    return rc;
}

/* ---- what the kernel has of it ---- */

static void
add_kernels(struct memory_map *map, enum range_kind kind, const char *owner,
            const char *name, struct stats_figure bytes)
{
    struct memory_range *range = bytes.known ? memory_map_add(map) : NULL;

    if (!range)
        return;
    range->kind = kind;
    range->owner = owner;
    range->name = name;
    range->size = bytes.value;
    range->evidence = "the kernel's count";
}

static void
add_rest(struct memory_map *map)
{
    char text[96];
    struct memory_range *range;

    if (map->rest_count == 0)
        return;
    /* the list is full: the sum takes the place of the last one */
    if (map->count == MEMORY_MAP_MAX) {
        range = &map->list[--map->count];
        map->rest_count++;
        map->rest.size += range->size;
        map->rest.rss += range->rss;
    }
    range = memory_map_add(map);
    if (!range)
        return;
    snprintf(text, sizeof(text), "%zu mappings past the ceiling of %d",
             map->rest_count, MEMORY_MAP_MAX);
    *range = map->rest;
    range->kind = RANGE_OTHERS;
    range->name = memory_map_text(map, text, strlen(text));
    range->owner = "";
    range->evidence = "the ceiling of this list";
}

static void
add_kernel_rows(const struct map_source *source, struct memory_map *map)
{
    static const char *const words[] = {"kernel_stack", "slab", "sock",
                                        "percpu", "file"};
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    struct stats_figure figures[WORDS];
    struct cgroup_path *cgroup = mem_alloc(sizeof(*cgroup));

    if (source->pid != 0)
        add_kernels(map, RANGE_PAGE_TABLES, "the process", "VmPTE",
                    process_memory_page_tables(source->pid));
    /* Only version 2 lists these in memory.stat. */
    if (cgroup && source->pid != 0 &&
        process_memory_find_cgroup(source->pid, cgroup) && cgroup->v2) {
        const char *name =
            memory_map_text(map, cgroup->path, strlen(cgroup->path));

        cgroup_read_kernel(cgroup, words, figures, WORDS);
        for (size_t i = 0; i < WORDS; i++)
            add_kernels(map, RANGE_KERNEL, words[i], name, figures[i]);
    }
    mem_free(cgroup);
}

struct memory_map *
map_source_read(const struct map_source *source, struct error *err)
{
    struct memory_map *map = memory_map_new();
    uint64_t began_ms = clock_ms();
    int rc = -1;

    if (!map) {
        error_memory(err, "the list of mappings");
        return NULL;
    }
    rc = read_source_mappings(source, map, err);
    map->taken_ms = clock_wall_ms();
    if (rc == 0 && map->count == 0) {
        error_set(err, ER_UNKNOWN,
                  "there is nothing to read in what the database has mapped: "
                  "it has just ended");
        rc = -1;
    }
    if (rc == 0)
        rc = find_owners(source, map, err);
    if (rc == 0) {
        add_rest(map);
        add_kernel_rows(source, map);
        if (*source->remark)
            map->remark =
                memory_map_text(map, source->remark, strlen(source->remark));
        map->took_ms = (uint32_t)(clock_ms() - began_ms);
        return map;
    }
    memory_map_unref(map);
    return NULL;
}
