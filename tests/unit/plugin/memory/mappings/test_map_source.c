/* test_map_source.c - this process's own mappings, as a stranger's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "map_seen.h"
#include "map_source.h"
#include "memory_map.h"
#include "process_memory.h"
#include "stats.h"
#include "suite.h"

/* The kernel may be so far behind with a process's sums. */
enum { MANY = 8 << 20, BEHIND = 1 << 20 };

static struct error err;
static struct map_seen seen;

static struct memory_map *
read_own_by(uint64_t too_large_bytes)
{
    struct map_source source = {.pid = getpid(), .remark = ""};
    struct memory_map *map;

    source.too_large_bytes = too_large_bytes;
    ck_assert_int_eq(map_source_open(&source), 0);
    map = map_source_read(&source, &err);
    ck_assert_msg(map != NULL, "%s", err.text);
    fd_close(source.smaps);
    map_seen_note(&seen, source.pid, 0, map, map->taken_ms);
    return map;
}

static struct memory_map *
read_own(void)
{
    return read_own_by(0);
}

/* Where that address lies. */
static const struct memory_range *
find(const struct memory_map *map, const void *address)
{
    uint64_t at = (uintptr_t)address;

    for (size_t i = 0; i < map->count; i++)
        if (at >= map->list[i].start && at < map->list[i].end)
            return &map->list[i];
    ck_abort_msg("it is not there");
}

static char *
map_new(int flags)
{
    char *new =
        mmap(NULL, MANY, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    ck_assert(new != MAP_FAILED);
    memset(new, 1, MANY);
    return new;
}

START_TEST(all_of_rss_has_an_owner)
{
    struct stats stats = {0};
    struct memory_map *map;
    uint64_t rss = 0;
    int64_t gap;

    map_seen_init(&seen);
    map = read_own();
    process_memory_read(getpid(), &stats);
    for (size_t i = 0; i < map->count; i++)
        rss += map->list[i].rss;
    gap = (int64_t)rss - (int64_t)stats.rss.value;
    ck_assert_int_lt(gap < 0 ? -gap : gap, 2 << 20);
    ck_assert_uint_gt(map->count, 10);
    ck_assert_int_eq(map->list[map->count - 1].start, 0); /* the kernel's */
    ck_assert_int_eq(find(map, &stats)->kind, RANGE_STACK);
    ck_assert_int_eq(find(map, (void *)(uintptr_t)map_source_read)->kind,
                     RANGE_FILE);
    ck_assert_int_eq(find(map, &err)->kind, RANGE_FILE); /* .bss */
    memory_map_unref(map);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(shared_memory_is_distinguished_from_files)
{
    struct stats before = {0}, after = {0};
    struct memory_map *map;
    char *shared;

    map_seen_init(&seen);
    process_memory_read(getpid(), &before);
    shared = map_new(MAP_SHARED);
    process_memory_read(getpid(), &after);
    ck_assert(before.rss_shared.known && after.rss_shared.known);
    ck_assert_uint_ge(after.rss_shared.value + BEHIND,
                      before.rss_shared.value + MANY);
    ck_assert_uint_ge(after.rss_file.value, after.rss_shared.value);
    map = read_own();
    ck_assert_int_eq(find(map, shared)->kind, RANGE_SHARED);
    ck_assert_uint_ge(find(map, shared)->rss, MANY);
    memory_map_unref(map);
    munmap(shared, MANY);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(own_memory_is_foreign_and_mallocs_is_not)
{
    char *block = malloc(MANY), *foreign;
    const struct memory_range *range;
    struct memory_map *map;

    map_seen_init(&seen);
    memset(block, 1, MANY);
    foreign = map_new(MAP_PRIVATE);
    map = read_own();
    range = find(map, foreign);
    ck_assert_int_eq(range->kind, RANGE_FOREIGN);
    ck_assert_uint_ge(range->rss, MANY);
    ck_assert_int_eq(range->first_seen_ms, map->taken_ms);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (strcmp(range->evidence, "no allocator's marks") == 0)
        ck_assert_int_eq(find(map, block)->kind, RANGE_GLIBC);
#endif
    memory_map_unref(map);
    munmap(foreign, MANY);
    free(block);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(an_agents_text_is_read_alike)
{
    static const char smaps[] = "1000-2000 rw-p 0 00:00 0\nRss: 4 kB\n"
                                "3000-5000 rw-p 0 00:00 0 [heap]\nRss: 8 kB\n";
    static const char tasks[] = "7 -1 0x1800 0x1\tpool-1\n";
    const struct map_source source = {
        .smaps = -1,
        .text = {smaps, sizeof(smaps) - 1},
        .threads = {tasks, sizeof(tasks) - 1},
        .cut = true,
        .remark = "it is of the agent",
    };
    struct memory_map *map;

    map_seen_init(&seen);
    map = map_source_read(&source, &err);
    ck_assert_ptr_nonnull(map);
    ck_assert(map->by_agent && map->cut);
    ck_assert_uint_eq(map->count, 2); /* its pid is unknown */
    ck_assert_int_eq(map->list[0].tid, 7);
    ck_assert_str_eq(map->list[0].owner, "pool-1");
    ck_assert_str_eq(map->remark, "it is of the agent");
    memory_map_unref(map);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(nothing_is_an_error)
{
    const struct map_source source = {
        .smaps = -1, .text = {"", 0}, .threads = {"", 0}, .remark = ""};
    struct map_source nobody = {.pid = 0};

    map_seen_init(&seen);
    ck_assert_ptr_null(map_source_read(&source, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "nothing to read"));
    ck_assert_int_eq(map_source_open(&nobody), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_uint_eq(map_source_large_bytes(0), 0);
    ck_assert_ptr_null(map_source_ranges(0));
    map_seen_fini(&seen);
}
END_TEST

/* As of a process that is too large for smaps. */
START_TEST(pages_are_counted_in_pieces)
{
    char *half = mmap(NULL, MANY, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = map_new(MAP_SHARED);
    const struct memory_range *range;
    struct stats stats = {0};
    struct memory_map *map;
    uint64_t rss = 0;

    map_seen_init(&seen);
    ck_assert(half != MAP_FAILED);
    ck_assert_int_eq(madvise(half, MANY, MADV_NOHUGEPAGE), 0);
    memset(half, 1, MANY / 2);
    map = read_own_by(1);
    process_memory_read(getpid(), &stats);
    for (size_t i = 0; i < map->count; i++)
        rss += map->list[i].rss;
    ck_assert_uint_lt(rss, stats.rss.value + (4 << 20));
    ck_assert_uint_gt(rss, stats.rss.value - (4 << 20));
    range = find(map, half);
    ck_assert_int_eq(range->kind, RANGE_FOREIGN);
    if (!range->part) /* else a neighbour has joined it */
        ck_assert_uint_eq(range->rss, range->anonymous);
    ck_assert_uint_ge(range->rss, MANY / 2);
    ck_assert_uint_lt(range->rss, MANY);
    ck_assert_uint_eq(find(map, shared)->rss, MANY);
    ck_assert_uint_eq(find(map, shared)->anonymous, 0);
    ck_assert(map->not_dirty);
    ck_assert_ptr_nonnull(strstr(map->remark, "counted in pieces"));
    memory_map_unref(map);
    munmap(half, MANY);
    munmap(shared, MANY);
    map_seen_fini(&seen);
}
END_TEST

/* More addresses than there is memory, which nobody may use. */
START_TEST(a_reserve_is_left_out)
{
    size_t size = (size_t)200 << 30;
    char *reserve = mmap(NULL, size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct memory_map *map;

    map_seen_init(&seen);
    ck_assert(reserve != MAP_FAILED);
    map = read_own_by(1);
    ck_assert_uint_eq(find(map, reserve)->rss, 0);
    ck_assert(find(map, reserve)->uncounted);
    ck_assert(!find(map, &map)->uncounted);
    ck_assert_uint_gt(find(map, &map)->rss, 0);
    ck_assert_ptr_nonnull(strstr(map->remark, " MB of addresses) rss is not"));
    memory_map_unref(map);
    munmap(reserve, size);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(ranges_are_read_without_pages)
{
    struct memory_map *map = map_source_ranges(getpid());

    ck_assert_ptr_nonnull(map);
    ck_assert_uint_gt(map->count, 10);
    ck_assert_uint_eq(find(map, &err)->rss, 0);
    memory_map_unref(map);
}
END_TEST

START_TEST(the_kernels_part_is_a_cgroups)
{
    static const char *const words[] = {"slab", "sock"};
    struct cgroup_path cgroup = {.v2 = true};
    char command[256], dir[] = "/tmp/hw-cgroup-XXXXXX";
    struct stats_figure figures[2];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(cgroup.path, sizeof(cgroup.path), "%s", dir);
    snprintf(command, sizeof(command),
             "printf 'slab_x 1\\nslab 4096\\n' > %s/memory.stat", dir);
    ck_assert_int_eq(system(command), 0);
    cgroup_read_kernel(&cgroup, words, figures, 2);
    ck_assert(!figures[0].known && !figures[1].known); /* the root's */
    snprintf(command, sizeof(command), "echo 1 > %s/memory.current", dir);
    ck_assert_int_eq(system(command), 0);
    cgroup_read_kernel(&cgroup, words, figures, 2);
    ck_assert(figures[0].known && !figures[1].known);
    ck_assert_uint_eq(figures[0].value, 4096);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("map_source");
    TCase *tc = tcase_create("map_source");

    tcase_add_test(tc, all_of_rss_has_an_owner);
    tcase_add_test(tc, shared_memory_is_distinguished_from_files);
    tcase_add_test(tc, own_memory_is_foreign_and_mallocs_is_not);
    tcase_add_test(tc, an_agents_text_is_read_alike);
    tcase_add_test(tc, nothing_is_an_error);
    tcase_add_test(tc, pages_are_counted_in_pieces);
    tcase_add_test(tc, a_reserve_is_left_out);
    tcase_add_test(tc, ranges_are_read_without_pages);
    tcase_add_test(tc, the_kernels_part_is_a_cgroups);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
