/* test_map_owners.c - whose a mapping is, by its name, its place, and what is
 * written in it. */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "map_owners.h"
#include "map_peek.h"
#include "memory_map.h"
#include "smaps.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MB = 1 << 20, KB = 1024 };

static struct error err;

static struct memory_map *
map_of(const char *text)
{
    struct memory_map *map = memory_map_new();
    struct smaps smaps;

    smaps_begin(&smaps, map);
    ck_assert_uint_eq(smaps_take(&smaps, (struct span){text, strlen(text)}),
                      strlen(text));
    ck_assert_uint_eq(map->bad_lines, 0);
    return map;
}

static struct memory_map *
owned(const char *text, const struct map_hints *hints)
{
    struct memory_map *map = map_of(text);

    ck_assert_int_eq(map_owners_find(map, hints, &err), 0);
    return map;
}

static const struct memory_range *
at(const struct memory_map *map, uint64_t start)
{
    for (size_t i = 0; i < map->count; i++)
        if (map->list[i].start == start)
            return &map->list[i];
    ck_abort_msg("no mapping at %lx", (unsigned long)start);
}

/* ---- by name ---- */

static const struct {
    const char *name, *owner;
    enum range_kind kind;
} by_name[] = {
    {"[heap]", "the first arena (brk)", RANGE_GLIBC},
    {"[stack]", "the main thread", RANGE_STACK},
    {"[vdso]", "[vdso]", RANGE_VDSO},
    {"[vvar]", "[vvar]", RANGE_VDSO},
    {"[anon:jemalloc_pg]", "[anon:jemalloc_pg]", RANGE_JEMALLOC},
    {"[anon: glibc: malloc arena]", "[anon: glibc: malloc arena]", RANGE_GLIBC},
    {"[anon: glibc: pthread stack: 7]", "[anon: glibc: pthread stack: 7]",
     RANGE_STACK},
    {"[anon:pool]", "[anon:pool]", RANGE_FOREIGN},
    {"[anon_shmem:z]", "[anon_shmem:z]", RANGE_SHARED},
    {"/memfd:buffers (deleted)", "buffers (deleted)", RANGE_SHARED},
    {"/memfd:heapwire-table (deleted)", "heapwire", RANGE_SHARED},
    {"/dev/shm/x", "/dev/shm/x", RANGE_SHARED},
    {"/SYSV0052e2c1 (deleted)", "/SYSV0052e2c1 (deleted)", RANGE_SHARED},
    {"/dev/zero (deleted)", "without a name", RANGE_SHARED},
    {"/usr/lib/a b.so", "/usr/lib/a b.so", RANGE_FILE},
    {"anon_inode:[io_uring]", "anon_inode:[io_uring]", RANGE_KERNEL},
};

START_TEST(a_name_says_it)
{
    static const struct map_hints hints = {.pid = 42};
    struct memory_map *map;
    char text[256];

    snprintf(text, sizeof(text), "1000-2000 rw-p 0 0:0 7 %s\nRss: 4 kB\n",
             by_name[_i].name);
    map = owned(text, &hints);
    ck_assert_uint_eq(map->count, 1);
    ck_assert_int_eq(map->list[0].kind, by_name[_i].kind);
    ck_assert_str_eq(map->list[0].owner, by_name[_i].owner);
    ck_assert_int_eq(map->list[0].tid,
                     strcmp(by_name[_i].name, "[stack]") == 0 ? 42 : 0);
    memory_map_unref(map);
}
END_TEST

/* ---- by place ---- */

#define ANON   " rw-p 00000000 00:00 0 \nRss: 4 kB\n"
#define CLOSED " ---p 00000000 00:00 0 \nRss: 0 kB\n"

START_TEST(a_thread_has_its_stack)
{
    struct map_thread threads[] = {
        {.sp = 0, .tid = 9, .name = "runs"},
        {.sp = 0x7f0000001100, .tid = 7, .name = "pool-1\x1b"},
        {.sp = 0x7f0000101f00, .tid = 8, .name = "pool-2"}};
    const struct map_hints hints = {.threads = threads, .thread_count = 3};
    struct memory_map *map =
        owned("7f0000000000-7f0000001000" CLOSED /* its guard */
              "7f0000001000-7f0000100000" ANON   /* the stack of 7 */
              "7f0000100000-7f0000101000" CLOSED /**/
              "7f0000101000-7f0000200000" ANON   /* of 8 */
              "7f0000200000-7f0000201000" CLOSED /**/
              "7f0000201000-7f0000300000" ANON   /* of one that runs */
              "7f0000400000-7f0000500000" ANON,  /* of none */
              &hints);

    ck_assert_uint_eq(map->count, 7);
    ck_assert_int_eq(at(map, 0x7f0000001000)->tid, 7);
    ck_assert_str_eq(at(map, 0x7f0000001000)->owner, "pool-1?");
    ck_assert_int_eq(at(map, 0x7f0000000000)->kind, RANGE_STACK);
    ck_assert_int_eq(at(map, 0x7f0000000000)->tid, 7);
    ck_assert_int_eq(at(map, 0x7f0000101000)->tid, 8);
    ck_assert_int_eq(at(map, 0x7f0000201000)->kind, RANGE_STACK);
    ck_assert_int_eq(at(map, 0x7f0000201000)->tid, 0);
    ck_assert_str_eq(at(map, 0x7f0000201000)->evidence, "a guard page below");
    ck_assert_int_eq(at(map, 0x7f0000400000)->kind, RANGE_FOREIGN);
    memory_map_unref(map);
}
END_TEST

START_TEST(data_without_a_file_is_that_files)
{
    static const struct map_hints hints = {0};
    struct memory_map *map =
        owned("7f0000000000-7f0000001000 rw-p 0 fe:00 7 /lib/x.so\nRss: 4 kB\n"
              "7f0000001000-7f0000003000" ANON
              "7f0000004000-7f0000005000 r--p 0 fe:00 7 /lib/y.so\n"
              "7f0000005000-7f0000006000" ANON
              "7f0000007000-7f0000008000 rw-p 0 fe:00 7 /lib/z.so\nRss: 4 kB\n"
              "7f0000008000-7f0000009000 r--p 0 fe:00 7 /lib/z.so\n"
              "7f0000009000-7f000000a000" ANON,
              &hints);

    ck_assert_int_eq(at(map, 0x7f0000001000)->kind, RANGE_FILE);
    ck_assert_str_eq(at(map, 0x7f0000001000)->owner, "/lib/x.so");
    ck_assert_int_eq(at(map, 0x7f0000005000)->kind, RANGE_FOREIGN);
    ck_assert_str_eq(at(map, 0x7f0000009000)->owner, "/lib/z.so");
    memory_map_unref(map);
}
END_TEST

START_TEST(an_arenas_heap_is_known_by_its_place)
{
    static const struct map_hints hints = {0};
    struct memory_map *map = owned("7f0000000000-7f0000021000" ANON
                                   "7f0000021000-7f0004000000" CLOSED
                                   "7f0008000000-7f0008021000" ANON,
                                   &hints);

    ck_assert_int_eq(at(map, 0x7f0000000000)->kind, RANGE_GLIBC);
    ck_assert_int_eq(at(map, 0x7f0000021000)->kind, RANGE_GLIBC);
    ck_assert_int_eq(at(map, 0x7f0008000000)->kind, RANGE_FOREIGN);
    memory_map_unref(map);
}
END_TEST

/* Where its metadata cannot be read: what it has altogether bounds it. */
START_TEST(jemalloc_is_presumed_and_said_to_be)
{
    static const struct map_hints hints = {.jemalloc = true,
                                           .jemalloc_most = 16 * MB};
    struct memory_map *map =
        owned("7f0000000000-7f0000800000" ANON "7f0010000000-7f0014000000" ANON,
              &hints);

    ck_assert_int_eq(at(map, 0x7f0000000000)->kind, RANGE_JEMALLOC);
    ck_assert_ptr_nonnull(
        strstr(at(map, 0x7f0000000000)->evidence, "presumed"));
    ck_assert_int_eq(at(map, 0x7f0010000000)->kind, RANGE_FOREIGN);
    memory_map_unref(map);
}
END_TEST

/* ---- by what is written in it ---- */

#define BASE UINT64_C(0x7f0000000000)
enum { MEMORY = 128 * MB };

static struct {
    uint8_t *bytes; /* at BASE */
    uint8_t present[MEMORY / MAP_PAGE];
    size_t reads, missed;
} fake;

static size_t
fake_read(void *arg, uint64_t from, void *out, size_t size)
{
    (void)arg;
    fake.reads++;
    if (from < BASE || from - BASE + size > MEMORY)
        return 0;
    for (uint64_t page = (from - BASE) / MAP_PAGE;
         page <= (from - BASE + size - 1) / MAP_PAGE; page++)
        fake.missed += !fake.present[page];
    memcpy(out, fake.bytes + (from - BASE), size);
    return size;
}

static size_t
fake_pages(void *arg, uint64_t from, uint64_t *out, size_t count)
{
    size_t i;

    (void)arg;
    for (i = 0; i < count && from - BASE + i * MAP_PAGE < MEMORY; i++)
        out[i] =
            fake.present[(from - BASE) / MAP_PAGE + i] ? MAP_PAGE_PRESENT : 0;
    return i;
}

static const struct map_peek peek = {fake_read, fake_pages, NULL};

static void
put(uint64_t offset, uint64_t word)
{
    memcpy(fake.bytes + offset, &word, sizeof(word));
    fake.present[offset / MAP_PAGE] = 1;
}

static void
set_up(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.bytes = calloc(1, MEMORY);
}

static void
tear_down(void)
{
    ck_assert_uint_eq(fake.missed, 0); /* nothing that was not in memory */
    free(fake.bytes);
}

/* A block of 2 MB of metadata, of jemalloc 5.3. */
static void
put_block(uint64_t offset)
{
    put(offset, 2 * MB);
    put(offset + 8, 0);
    put(offset + 16, 0xe80afff);
    put(offset + 24, BASE + offset + 64 * KB);
    put(offset + 32, 2 * MB - 64 * KB);
}

static void
put_extent(uint64_t offset, uint64_t start, uint64_t size)
{
    put(offset, 0xe80a000);
    put(offset + 8, start);
    put(offset + 16, size | 5); /* and its serial number */
}

START_TEST(jemallocs_metadata_say_what_is_its_own)
{
    const struct map_hints hints = {.peek = &peek, .jemalloc = true};
    struct memory_map *map;

    put_block(0);
    put_extent(4096, BASE + 2 * MB, 2 * MB);
    put_extent(4096 + 128, BASE + 4 * MB, 64 * KB);
    put_extent(1 * MB + 256, BASE + 4 * MB + 64 * KB + 192, 4 * MB - 64 * KB);
    /* No extents: not within a mapping, without bits, a pointer before it. */
    put_extent(8192, BASE + 64 * MB, 256 * MB);
    put(8192 + 256 + 8, BASE + 40 * MB);
    put(8192 + 256 + 16, 1 * MB);
    put(8192 + 512, BASE + 40 * MB);
    put(8192 + 512 + 8, BASE + 40 * MB);
    put(8192 + 512 + 16, 1 * MB);
    for (size_t page = 0; page < 3 * MB / MAP_PAGE; page++)
        fake.present[8 * MB / MAP_PAGE + page] = 1;
    fake.present[2 * MB / MAP_PAGE] = 1;
    /* One mapping of jemalloc's 8 MB, and 3 MB of somebody else. */
    map = owned("7f0000000000-7f0000b00000 rw-p 0 00:00 0\nRss: 3088 kB\n"
                "Anonymous: 3088 kB\n"
                "7f0002000000-7f0004000000" ANON,
                &hints);
    ck_assert_uint_eq(map->count, 3);
    ck_assert_int_eq(map->list[0].kind, RANGE_JEMALLOC);
    ck_assert_uint_eq(map->list[0].size, 8 * MB);
    ck_assert_uint_eq(map->list[0].rss, 16 * KB);
    ck_assert(map->list[0].part);
    ck_assert_int_eq(map->list[1].kind, RANGE_FOREIGN);
    ck_assert_uint_eq(map->list[1].size, 3 * MB);
    ck_assert_uint_eq(map->list[1].rss, 3 * MB);
    ck_assert_int_eq(map->list[2].kind, RANGE_FOREIGN);
    memory_map_unref(map);
}
END_TEST

/* One that writes otherwise is presumed. */
START_TEST(an_unknown_jemalloc_is_not_foreign)
{
    struct map_hints hints = {.peek = &peek, .jemalloc = true};
    static const char text[] = "7f0000000000-7f0000b00000" ANON;
    struct memory_map *map = owned(text, &hints);

    ck_assert_int_eq(map->list[0].kind, RANGE_JEMALLOC);
    memory_map_unref(map);
    put_block(0);
    hints.jemalloc_most = 11 * MB;
    map = owned(text, &hints);
    ck_assert_uint_eq(map->count, 2);
    ck_assert_int_eq(map->list[1].kind, RANGE_JEMALLOC);
    ck_assert_ptr_nonnull(strstr(map->list[1].evidence, "presumed"));
    memory_map_unref(map);
}
END_TEST

START_TEST(glibcs_headers_say_what_is_its_own)
{
    static const struct map_hints hints = {.peek = &peek};
    struct memory_map *map;

    /* Two blocks, and 1 MB behind them that is somebody else's. */
    put(8, 2 * MB | 2);
    put(2 * MB, 64);
    put(2 * MB + 8, 1 * MB | 2);
    put(3 * MB + 8, 77);
    /* Behind somebody else's, up to the end; and what only looks like it. */
    put(17 * MB + 8, 1 * MB | 2);
    put(18 * MB + 8, 2 * MB | 2);
    put(16 * MB + 4096 + 8, 64 * KB | 2);
    /* A heap of an arena: 64 MB-aligned, as BASE is. */
    put(64 * MB, BASE + 64 * MB + 48);
    put(64 * MB + 8, 0);
    put(64 * MB + 16, 132 * KB);
    put(64 * MB + 24, 132 * KB);
    map = owned("7f0000000000-7f0000400000 rw-p 0 00:00 0\nRss: 12 kB\n"
                "7f0001000000-7f0001400000 rw-p 0 00:00 0\nRss: 12 kB\n"
                "7f0004000000-7f0004021000" ANON
                "7f0004021000-7f0008000000" CLOSED,
                &hints);
    ck_assert_int_eq(at(map, BASE + 16 * MB)->kind, RANGE_FOREIGN);
    ck_assert_int_eq(at(map, BASE + 17 * MB)->kind, RANGE_GLIBC);
    ck_assert_uint_eq(at(map, BASE + 17 * MB)->size, 3 * MB);
    ck_assert_uint_eq(map->count, 6);
    ck_assert_int_eq(map->list[0].kind, RANGE_GLIBC);
    ck_assert_uint_eq(map->list[0].size, 3 * MB);
    ck_assert_uint_eq(map->list[0].rss, 8 * KB);
    ck_assert_int_eq(map->list[1].kind, RANGE_FOREIGN);
    ck_assert_uint_eq(map->list[1].rss, 4 * KB);
    ck_assert_int_eq(map->list[4].kind, RANGE_GLIBC);
    ck_assert_str_eq(map->list[4].owner, "an arena's heap");
    ck_assert_int_eq(map->list[5].kind, RANGE_GLIBC);
    memory_map_unref(map);
}
END_TEST

/* Its neighbour above may have joined a thread's stack. */
START_TEST(a_stack_ends_where_such_stacks_do)
{
    struct map_thread threads[] = {{.sp = BASE + 1 * MB, .tid = 1},
                                   {.sp = BASE + 9 * MB, .tid = 2},
                                   {.sp = BASE + 17 * MB, .tid = 3}};
    const struct map_hints hints = {
        .peek = &peek, .threads = threads, .thread_count = 3};
    struct memory_map *map;

    memset(fake.present + 24 * MB / MAP_PAGE, 1, 8 * MB / MAP_PAGE);
    fake.present[17 * MB / MAP_PAGE] = 1;
    map = owned("7effffff0000-7f0000000000" CLOSED /**/
                "7f0000000000-7f00007ff000" ANON   /* 8 MB but a page */
                "7f00007ff000-7f0000800000" CLOSED /**/
                "7f0000800000-7f0000fff000" ANON   /* likewise */
                "7f0000fff000-7f0001000000" CLOSED /**/
                "7f0001000000-7f0002000000 rw-p 0 00:00 0\nRss: 8196 kB\n",
                &hints);
    ck_assert_int_eq(at(map, BASE)->tid, 1);
    ck_assert_int_eq(at(map, BASE + 8 * MB)->tid, 2);
    ck_assert_int_eq(at(map, BASE + 16 * MB)->tid, 3);
    ck_assert_uint_eq(at(map, BASE + 16 * MB)->size, 8 * MB - MAP_PAGE);
    ck_assert_uint_eq(at(map, BASE + 16 * MB)->rss, MAP_PAGE);
    ck_assert_int_eq(at(map, BASE + 24 * MB - MAP_PAGE)->kind, RANGE_FOREIGN);
    ck_assert_uint_eq(at(map, BASE + 24 * MB - MAP_PAGE)->rss, 8 * MB);
    memory_map_unref(map);
}
END_TEST

/* Whatever is written there: no page that is not in memory is read, and the
 * bytes in memory stay the same. */
START_TEST(scribbled_memory_is_survived)
{
    const struct map_hints hints = {.peek = &peek, .jemalloc = true};
    struct memory_map *map;
    uint64_t rss = 0;

    srand((unsigned)_i);
    for (int i = 0; i < 5000; i++) {
        uint64_t offset = (uint64_t)rand() % (MEMORY / 8) * 8;
        uint64_t word = (uint64_t)rand() << (rand() % 16);

        put(rand() % 2 ? offset : offset / (2 * MB) * (2 * MB) + offset % 64,
            rand() % 2 ? BASE + word % MEMORY : word & ~(uint64_t)4095);
    }
    put_block(0);
    map = owned("7f0000000000-7f0004000000 rw-p 0 00:00 0\nRss: 1024 kB\n"
                "7f0004000000-7f0008000000 rw-p 0 00:00 0\nRss: 2048 kB\n",
                &hints);
    for (size_t i = 0; i < map->count; i++) {
        rss += map->list[i].rss;
        ck_assert_uint_eq(map->list[i].start,
                          i > 0 ? map->list[i - 1].end : BASE);
    }
    ck_assert_uint_eq(rss, 3 * MB);
    memory_map_unref(map);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("map_owners");
    TCase *names = tcase_create("names"), *peeks = tcase_create("peeks");

    tcase_add_loop_test(names, a_name_says_it, 0, COUNT(by_name));
    tcase_add_test(names, a_thread_has_its_stack);
    tcase_add_test(names, data_without_a_file_is_that_files);
    tcase_add_test(names, an_arenas_heap_is_known_by_its_place);
    tcase_add_test(names, jemalloc_is_presumed_and_said_to_be);
    suite_add_tcase(suite, names);
    tcase_add_checked_fixture(peeks, set_up, tear_down);
    tcase_add_test(peeks, jemallocs_metadata_say_what_is_its_own);
    tcase_add_test(peeks, an_unknown_jemalloc_is_not_foreign);
    tcase_add_test(peeks, glibcs_headers_say_what_is_its_own);
    tcase_add_test(peeks, a_stack_ends_where_such_stacks_do);
    tcase_add_loop_test(peeks, scribbled_memory_is_survived, 0, 20);
    suite_add_tcase(suite, peeks);
    return suite_run(suite);
}
