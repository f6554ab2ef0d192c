/* test_perf_rings.c - rings that the test fills in the kernel's place. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "perf_rings.h"
#include "suite.h"

enum { RINGS = 2, SIZE = 256, TAKEN_MAX = 64 };

static struct perf_rings rings;
static struct perf_event_mmap_page pages[RINGS];
static uint64_t data[RINGS][SIZE / 8];
static uint64_t taken[TAKEN_MAX];
static size_t count, ends_at;
static struct error err;

static void
put_word(int ring, uint64_t word)
{
    data[ring][pages[ring].data_head / 8 % (SIZE / 8)] = word;
    pages[ring].data_head += 8;
}

/* Of six words, so that some lie around the end. */
static void
put_record(int ring, uint32_t type, uint64_t at_ns)
{
    const struct perf_event_header header = {.type = type, .size = 48};
    uint64_t word;

    memcpy(&word, &header, sizeof(word));
    put_word(ring, word);
    put_word(ring, 7);
    put_word(ring, type == PERF_RECORD_SAMPLE ? at_ns : 1);
    put_word(ring, 2);
    put_word(ring, 3);
    put_word(ring, type == PERF_RECORD_SAMPLE ? 4 : at_ns);
}

static int
on_record(void *arg, const struct perf_event_header *header,
          const uint8_t *body, struct error *unused)
{
    uint64_t words[5];

    (void)arg, (void)unused;
    memcpy(words, body, sizeof(words));
    ck_assert_uint_eq(header->size, 48);
    ck_assert(words[0] == 7 && words[2] == 2 && words[3] == 3);
    ck_assert_uint_lt(count, TAKEN_MAX);
    taken[count++] = header->type == PERF_RECORD_SAMPLE ? words[1] : words[4];
    return count == ends_at ? -1 : 0;
}

static int
drain(uint64_t until_ns)
{
    count = 0;
    return perf_rings_drain(&rings, until_ns, on_record, NULL, &err);
}

static void
set_up(void)
{
    ck_assert_int_eq(perf_rings_init(&rings, RINGS), 0);
    for (int i = 0; i < RINGS; i++)
        rings.list[rings.count++] = (struct perf_ring){
            .page = &pages[i], .data = (uint8_t *)data[i], .size = SIZE};
}

static void
tear_down(void)
{
    rings.count = 0; /* nothing was mapped */
    perf_rings_fini(&rings);
}

START_TEST(records_of_all_rings_come_in_order_of_time)
{
    for (uint64_t at = 10, round = 0; round < 20; round++) {
        uint64_t first = at;

        put_record(0, PERF_RECORD_SAMPLE, at);
        put_record(1, PERF_RECORD_FORK, at + 1);
        put_record(0, PERF_RECORD_COMM, at + 2);
        put_record(0, PERF_RECORD_SAMPLE, at + 4);
        put_record(1, PERF_RECORD_SAMPLE, at + 3);
        at += 5;
        ck_assert_int_eq(drain(UINT64_MAX - 1), 0);
        ck_assert_uint_eq(count, 5);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(taken[i], first + i);
    }
    ck_assert_uint_eq(pages[0].data_tail, pages[0].data_head);
}
END_TEST

START_TEST(what_is_later_stays)
{
    put_record(0, PERF_RECORD_SAMPLE, 10);
    put_record(0, PERF_RECORD_SAMPLE, 20);
    put_record(1, PERF_RECORD_SAMPLE, 15);
    ck_assert_int_eq(drain(15), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(drain(19), 0);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(drain(20), 0);
    ck_assert(count == 1 && taken[0] == 20);
}
END_TEST

START_TEST(who_takes_them_ends_it)
{
    put_record(0, PERF_RECORD_SAMPLE, 10);
    put_record(1, PERF_RECORD_SAMPLE, 15);
    ends_at = 1;
    ck_assert_int_eq(drain(100), -1);
    ck_assert_uint_eq(count, 1);
    ends_at = 0;
    ck_assert_int_eq(drain(100), 0);
    ck_assert_uint_eq(taken[0], 15);
}
END_TEST

START_TEST(a_record_that_is_none_ends_its_ring_alone)
{
    put_record(0, PERF_RECORD_SAMPLE, 10);
    put_record(1, PERF_RECORD_SAMPLE, 15);
    put_word(0, 0); /* of no size */
    ck_assert_int_eq(drain(100), 0);
    ck_assert_uint_eq(count, 2);
    put_record(1, PERF_RECORD_SAMPLE, 20);
    ck_assert_int_eq(drain(100), 0);
    ck_assert_uint_eq(count, 1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("perf_rings");
    TCase *tcase = tcase_create("perf_rings");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, records_of_all_rings_come_in_order_of_time);
    tcase_add_test(tcase, what_is_later_stays);
    tcase_add_test(tcase, who_takes_them_ends_it);
    tcase_add_test(tcase, a_record_that_is_none_ends_its_ring_alone);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
