/* test_process_mappings.c - what a process has mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "process_memory.h"
#include "stats.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MANY = 8 << 20 };

static struct process_mapping list[MAPPINGS_MAX];
static struct error err;

#define HEAD(name)                                                             \
    "7f0000000000-7f0000002000 rw-p 00000000 fe:00 7   " name "\n"
#define BODY(rss)                                                              \
    "Size:                  8 kB\nRss: " #rss " kB\nPss: 1 kB\n"               \
    "AnonHugePages:  0 kB\nFilePmdMapped: 0 kB\nSwap: 3 kB\nSwapPss: 1 kB\n"   \
    "VmFlags: rd wr\n"

static const char sample[] = HEAD("/lib/a b.so") BODY(1) HEAD("") BODY(2)
    HEAD("/lib/a b.so") BODY(4) HEAD("[heap]") BODY(3) HEAD("[stack]") BODY(0)
        HEAD("/dev/shm/x") BODY(6) HEAD("/memfd:y (deleted)") BODY(0)
            HEAD("[vdso]") BODY(0) HEAD("/SYSV0052e2c1 (deleted)") BODY(0)
                HEAD("/dev/zero (deleted)") BODY(0) HEAD("[anon:jemalloc]")
                    BODY(0) HEAD("[anon_shmem:z]") BODY(0);

static const struct {
    const char *name, *kind;
    uint64_t count, rss;
} wanted[] = {
    {"/dev/shm/x", "shared memory", 1, 6},
    {"/lib/a b.so", "file", 2, 5},
    {"[heap]", "heap", 1, 3},
    {"", "anonymous", 1, 2},
    {"[stack]", "stack", 1, 0},
    {"/memfd:y (deleted)", "shared memory", 1, 0},
    {"[vdso]", "kernel", 1, 0},
    {"/SYSV0052e2c1 (deleted)", "shared memory", 1, 0},
    {"/dev/zero (deleted)", "shared memory", 1, 0},
    {"[anon:jemalloc]", "anonymous", 1, 0},
    {"[anon_shmem:z]", "shared memory", 1, 0},
};

static size_t
parse(const char *text, size_t size)
{
    FILE *file = fmemopen((void *)text, size, "r");
    size_t count = process_mappings_parse(file, NULL, list);

    fclose(file);
    return count;
}

static const struct process_mapping *
find(size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    ck_abort_msg("no %s", name);
}

START_TEST(mappings_of_a_name_are_one)
{
    size_t count = parse(sample, sizeof(sample) - 1);
    const struct process_mapping *m;

    ck_assert_uint_eq(count, COUNT(wanted));
    m = find(count, wanted[_i].name);
    ck_assert_str_eq(m->kind, wanted[_i].kind);
    ck_assert_uint_eq(m->count, wanted[_i].count);
    ck_assert_uint_eq(m->size, wanted[_i].count * 8192);
    ck_assert_uint_eq(m->rss, wanted[_i].rss * 1024);
    ck_assert_uint_eq(m->swap, wanted[_i].count * 3072);
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_ge(list[i - 1].rss, list[i].rss);
}
END_TEST

/* Cut anywhere, it is read as far as it goes. */
START_TEST(what_is_cut_is_read_as_far_as_it_goes)
{
    for (size_t size = 1; size < sizeof(sample); size++)
        ck_assert_uint_le(parse(sample, size), COUNT(wanted));
}
END_TEST

START_TEST(names_past_the_ceiling_are_one)
{
    size_t room = (MAPPINGS_MAX + 10) * 128, used = 0, count;
    char *text = malloc(room);

    for (int i = 0; i < MAPPINGS_MAX + 9; i++)
        used += (size_t)snprintf(text + used, room - used,
                                 "1000-2000 r--p 0 0:0 0 /f%d\nRss: 4 kB\n", i);
    count = parse(text, used);
    ck_assert_uint_eq(count, MAPPINGS_MAX);
    ck_assert_str_eq(find(count, "(others)")->kind, "others");
    ck_assert_uint_eq(find(count, "(others)")->count, 10);
    ck_assert_uint_eq(find(count, "(others)")->rss, 40960);
    free(text);
}
END_TEST

START_TEST(shared_memory_is_distinguished_from_files)
{
    struct stats before = {0}, after = {0};
    size_t count;
    char *shared;

    process_memory_read(getpid(), &before);
    shared = mmap(NULL, MANY, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    memset(shared, 1, MANY);
    process_memory_read(getpid(), &after);
    ck_assert(before.rss_shared.known && after.rss_shared.known);
    ck_assert_uint_ge(after.rss_shared.value, before.rss_shared.value + MANY);
    ck_assert_uint_ge(after.rss_file.value, after.rss_shared.value);
    count = process_mappings_read(getpid(), NULL, list, &err);
    ck_assert_uint_gt(count, 3);
    ck_assert_uint_ge(find(count, "/dev/zero (deleted)")->rss, MANY);
    munmap(shared, MANY);
}
END_TEST

START_TEST(what_cannot_be_read_says_so)
{
    atomic_bool cancelled = true;

    ck_assert_uint_eq(process_mappings_read(0, NULL, list, &err), 0);
    ck_assert_str_eq(err.text,
                     "cannot open /proc/0/smaps: No such file or directory");
    ck_assert_uint_eq(process_mappings_read(getpid(), &cancelled, list, &err),
                      0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("process_mappings");
    TCase *tc = tcase_create("process_mappings");

    tcase_add_loop_test(tc, mappings_of_a_name_are_one, 0, COUNT(wanted));
    tcase_add_test(tc, what_is_cut_is_read_as_far_as_it_goes);
    tcase_add_test(tc, names_past_the_ceiling_are_one);
    tcase_add_test(tc, shared_memory_is_distinguished_from_files);
    tcase_add_test(tc, what_cannot_be_read_says_so);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
