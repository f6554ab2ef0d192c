/*
 * test_resolve_items.c - items are the addresses in files, in the order of
 * their places there, however files are mapped.
 */
#include <string.h>

#include "failing_memory.h"
#include "mappings.h"
#include "names.h"
#include "resolve_job.h"
#include "suite.h"

enum { PAGE = 4096, MAPPINGS = 12, ADDRESSES = 600 };

static uint32_t dice;

static uint32_t
roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return dice % sides;
}

static struct mapping list[MAPPINGS];
static const struct mappings maps = {list, MAPPINGS};
static uint64_t addresses[ADDRESSES];
static struct resolve_item items[ADDRESSES];

/* Few files, so that some are mapped twice, and where they were already. */
static void
make_mappings(void)
{
    static const char *const paths[] = {"/lib/b", "/lib/a", "[vdso]", ""};
    uint64_t at = PAGE;

    for (int i = 0; i < MAPPINGS; i++) {
        uint32_t path = roll(4), pages = 1 + roll(3);

        list[i].path = paths[path];
        list[i].device = roll(2);
        list[i].inode = path < 2 ? 1 + roll(2) : 0;
        list[i].offset = roll(3) * (uint64_t)PAGE;
        list[i].start = at;
        list[i].end = at + pages * (uint64_t)PAGE;
        at = list[i].end + roll(2) * (uint64_t)PAGE;
    }
}

static void
make_addresses(void)
{
    uint64_t span = list[MAPPINGS - 1].end / ADDRESSES, at = 1;

    for (int i = 0; i < ADDRESSES; i++)
        addresses[i] = at += 1 + roll((uint32_t)span * 2);
}

/* As the header has it, one after the other. */
static bool
is_before(const struct resolve_item *a, const struct resolve_item *b)
{
    const struct mapping *m = a->mapping, *n = b->mapping;

    if (m->device != n->device)
        return m->device < n->device;
    if (m->inode != n->inode)
        return m->inode < n->inode;
    if (strcmp(m->path, n->path) != 0)
        return strcmp(m->path, n->path) < 0;
    return a->offset != b->offset ? a->offset < b->offset
                                  : a->address < b->address;
}

START_TEST(items_are_in_the_order_of_their_places_in_files)
{
    const struct resolve_request request = {
        .maps = &maps, .addresses = addresses, .count = ADDRESSES};
    unsigned mixed = 0;

    for (uint32_t seed = 1; seed < 60; seed++) {
        struct resolve_job job = {.request = &request, .items = items};
        size_t count;

        dice = seed;
        make_mappings();
        make_addresses();
        job.names = names_new(1 << 20);
        ck_assert_ptr_nonnull(job.names);
        memset(items, 0, sizeof(items));
        count = resolve_items_sort(&job);
        ck_assert(!job.no_memory);
        ck_assert_uint_eq(count + names_count(job.names), ADDRESSES);
        for (size_t i = 0; i < count; i++) {
            const struct mapping *m = items[i].mapping;

            ck_assert_ptr_eq(m, mappings_find(&maps, items[i].address));
            ck_assert_uint_ne(m->inode, 0);
            ck_assert_uint_eq(items[i].offset,
                              items[i].address - m->start + m->offset);
            ck_assert(!names_find(job.names, items[i].address));
            if (i > 0) {
                ck_assert(is_before(&items[i - 1], &items[i]));
                mixed += items[i - 1].address > items[i].address &&
                         resolve_same_file(items[i - 1].mapping, m);
            }
        }
        names_free(job.names);
    }
    ck_assert_uint_gt(mixed, 20);
}
END_TEST

START_TEST(without_memory_it_says_so)
{
    const struct resolve_request request = {
        .maps = &maps, .addresses = addresses, .count = ADDRESSES};
    struct resolve_job job = {.request = &request, .items = items};

    dice = 5;
    make_mappings();
    make_addresses();
    job.names = names_new(1 << 20);
    names_expect(job.names, ADDRESSES);
    allocations = 0;
    failing = 1;
    resolve_items_sort(&job);
    failing = 0;
    ck_assert(job.no_memory);
    names_free(job.names);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("resolve_items");
    TCase *tc = tcase_create("items");

    tcase_add_test(tc, items_are_in_the_order_of_their_places_in_files);
    tcase_add_test(tc, without_memory_it_says_so);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
