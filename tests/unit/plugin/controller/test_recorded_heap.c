/* test_recorded_heap.c - a recorder's segment as a heap dump, and while the
 * n-th allocation fails. */
#include "recorded_heap.h"

#include <math.h>

#include "estimator.h"
#include "failing_memory.h"
#include "heap_dump.h"
#include "segment_fixture.h"
#include "suite.h"

enum { MEAN = 512 * 1024 };

static struct segment_fixture f;

static void
set_up(void)
{
    fixture_init(&f);
}

static void
tear_down(void)
{
    fixture_fini(&f);
}

/* Return addresses, innermost first. */
static void
put_stack(uint32_t stack, const uint64_t *addresses, uint32_t depth)
{
    struct segment_stack *stacks = fixture_part(&f, SEGMENT_STACKS);
    uint64_t *frames = fixture_part(&f, SEGMENT_FRAMES);

    stacks[stack].hash = 1 + stack;
    stacks[stack].first_frame = f.frames;
    stacks[stack].depth = depth;
    for (uint32_t i = 0; i < depth; i++)
        frames[f.frames++] = addresses[i];
}

static void
put_ever(uint32_t stack, uint64_t bytes, uint64_t objects)
{
    struct segment_stack *stacks = fixture_part(&f, SEGMENT_STACKS);

    stacks[stack].allocated_bytes = bytes;
    stacks[stack].allocated_objects = objects * SEGMENT_OBJECT;
}

static void
put_sample(uint32_t place, uint32_t stack, uint64_t size, uint64_t mean,
           uint64_t time_ns)
{
    struct segment_sample *samples = fixture_part(&f, SEGMENT_SAMPLES);
    uint64_t *keys = fixture_part(&f, SEGMENT_KEYS);

    samples[place] = (struct segment_sample){.key = 0x1000 + place * 16,
                                             .size = size,
                                             .mean = mean,
                                             .time_ns = time_ns,
                                             .stack = stack};
    keys[place] = samples[place].key;
}

static struct heap_dump *
dump_all(void)
{
    struct segment_copy *copy = fixture_copy(&f);
    struct error err;
    struct heap_dump *dump = recorded_heap(copy, 0, &err);

    segment_copy_free(copy);
    ck_assert_ptr_nonnull(dump);
    return dump;
}

/* The n-th entry of the dump; NULL: there are fewer. */
static const struct heap_stack *
entry_at(const struct heap_dump *dump, size_t n)
{
    for (const struct heap_piece *p = dump->stacks.first; p; p = p->next) {
        if (n < p->count)
            return &p->stacks[n];
        n -= p->count;
    }
    return NULL;
}

static double
live_bytes(const struct heap_dump *dump)
{
    const struct heap_stack *entry;
    double bytes = 0;

    for (size_t i = 0; (entry = entry_at(dump, i)); i++)
        bytes += entry->estimate.bytes;
    return bytes;
}

START_TEST(an_empty_segment_is_an_empty_profile_of_the_requested_rate)
{
    struct heap_dump *dump = dump_all();

    ck_assert_uint_eq(dump->rate, MEAN);
    ck_assert_uint_eq(dump->stack_count, 0);
    ck_assert_uint_eq(dump->address_count, 0);
    heap_dump_free(dump);
}
END_TEST

START_TEST(each_sample_has_the_weight_of_its_size_and_mean)
{
    static const uint64_t stack[] = {0x5001, 0x6001};
    const struct heap_stack *entry;
    struct heap_dump *dump;
    double all = 1000 / estimator_chance(1000, MEAN) +
                 9000 / estimator_chance(9000, 4 * MEAN);

    put_stack(7, stack, 2);
    put_sample(3, 7, 1000, MEAN, 1);
    put_sample(9, 7, 9000, 4 * MEAN, 2);
    dump = dump_all();
    ck_assert_uint_eq(dump->stack_count, 1);
    entry = entry_at(dump, 0);
    ck_assert_uint_eq(entry->objects, 2);
    ck_assert_uint_eq(entry->bytes, 10000);
    ck_assert_uint_eq(entry->depth, 2);
    ck_assert_uint_eq(dump->addresses[entry->addresses[0]], 0x5000);
    ck_assert_uint_eq(dump->addresses[entry->addresses[1]], 0x6000);
    ck_assert_double_eq_tol(live_bytes(dump), all, 1e-6 * all);
    heap_dump_free(dump);
}
END_TEST

START_TEST(addresses_are_listed_once_and_ascend)
{
    static const uint64_t one[] = {0x9001, 0x3001}, other[] = {0x5001, 0x3001};
    struct heap_dump *dump;

    put_stack(1, one, 2);
    put_stack(2, other, 2);
    put_sample(1, 1, 100, 1, 1);
    put_sample(2, 2, 200, 1, 1);
    dump = dump_all();
    ck_assert_uint_eq(dump->address_count, 3);
    ck_assert_uint_eq(dump->addresses[0], 0x3000);
    ck_assert_uint_eq(dump->addresses[1], 0x5000);
    ck_assert_uint_eq(dump->addresses[2], 0x9000);
    ck_assert_double_eq(live_bytes(dump), 300);
    heap_dump_free(dump);
}
END_TEST

/* The stack for lost samples has no frames: its entries share nobody's. */
START_TEST(a_stack_without_frames_changes_no_other)
{
    static const uint64_t stack[] = {0x9001, 0x3001};
    const struct heap_stack *entry;
    struct heap_dump *dump;

    put_stack(1, stack, 2);
    put_sample(1, SEGMENT_STACK_LOST, 100, 1, 1);
    put_sample(2, 1, 200, 1, 1);
    dump = dump_all();
    ck_assert_uint_eq(dump->stack_count, 2);
    ck_assert_uint_eq(entry_at(dump, 0)->depth, 0);
    entry = entry_at(dump, 1);
    ck_assert_uint_eq(dump->addresses[entry->addresses[0]], 0x9000);
    ck_assert_uint_eq(dump->addresses[entry->addresses[1]], 0x3000);
    heap_dump_free(dump);
}
END_TEST

START_TEST(two_modules_at_one_place_have_addresses_of_their_own)
{
    struct segment_module *modules = fixture_part(&f, SEGMENT_MODULES);
    const uint64_t one[] = {0x5001 | 1ULL << SEGMENT_PC_BITS};
    const uint64_t other[] = {0x5001 | 2ULL << SEGMENT_PC_BITS};
    struct heap_dump *dump;

    modules[0] = (struct segment_module){.start = 0x5000, .end = 0x6000};
    modules[1] = (struct segment_module){.start = 0x4000, .end = 0x6000};
    put_stack(1, one, 1);
    put_stack(2, other, 1);
    put_sample(1, 1, 100, 1, 1);
    put_sample(2, 2, 200, 1, 1);
    dump = dump_all();
    ck_assert_uint_eq(dump->address_count, 2);
    ck_assert_uint_eq(dump->addresses[0], 0x5000);
    ck_assert_uint_eq(dump->addresses[1], 0x5000 + (2ULL << SEGMENT_PC_BITS));
    heap_dump_free(dump);
}
END_TEST

START_TEST(what_was_ever_allocated_is_an_entry_without_live_bytes)
{
    static const uint64_t stack[] = {0x5001};
    const struct heap_stack *entry;
    struct heap_dump *dump;

    put_stack(1, stack, 1);
    put_ever(1, 70000, 70);
    dump = dump_all();
    ck_assert_uint_eq(dump->stack_count, 1);
    entry = entry_at(dump, 0);
    ck_assert_uint_eq(entry->objects, 0);
    ck_assert_uint_eq(entry->objects_ever, 70);
    ck_assert_uint_eq(entry->bytes_ever, 70000);
    heap_dump_free(dump);
}
END_TEST

START_TEST(a_reset_forgets_samples_and_sums)
{
    static const uint64_t stack[] = {0x5001}, other[] = {0x6001};
    struct heap_dump *dump;

    put_stack(1, stack, 1);
    put_stack(2, other, 1);
    put_ever(1, 70000, 70);
    put_ever(2, 70000, 70);
    put_sample(1, 1, 100, 1, 4);
    put_sample(2, 1, 300, 1, 5);
    f.header->settings.since_ns = 5;
    dump = dump_all();
    ck_assert_uint_eq(dump->stack_count, 1);
    ck_assert_double_eq(live_bytes(dump), 300);
    ck_assert_uint_eq(entry_at(dump, 0)->objects_ever, 0);
    heap_dump_free(dump);
}
END_TEST

START_TEST(a_claim_and_a_sample_without_a_stack_say_nothing)
{
    static const uint64_t stack[] = {0x5001};
    struct heap_dump *dump;
    uint64_t *keys = fixture_part(&f, SEGMENT_KEYS);

    put_stack(1, stack, 1);
    put_sample(1, 1, 100, 1, 1);
    keys[1] = SEGMENT_CLAIM | 1;
    put_sample(2, 5, 100, 1, 1);        /* nothing is there */
    put_sample(3, UINT32_MAX, 9, 1, 1); /* nor can be */
    dump = dump_all();
    ck_assert_double_eq(live_bytes(dump), 0);
    heap_dump_free(dump);
}
END_TEST

/* Any bytes behind the header, as another process may write them. */
START_TEST(scribbles_are_a_profile_or_an_error)
{
    uint64_t seed = 1 + (uint64_t)_i;
    struct segment_copy *copy;
    struct heap_dump *dump;
    struct error err;

    for (int round = 0; round < 200; round++) {
        uint64_t *at = (uint64_t *)(void *)f.header;

        for (uint64_t i = SEGMENT_HEADER_BYTES / sizeof(*at);
             i < f.header->segment_bytes / sizeof(*at); i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            at[i] = seed >> seed % 64;
        }
        copy = fixture_copy(&f);
        dump = recorded_heap(copy, 0, &err);
        ck_assert(!dump || isfinite(live_bytes(dump)));
        heap_dump_free(dump);
        segment_copy_free(copy);
    }
}
END_TEST

START_TEST(whichever_allocation_fails_it_is_an_error)
{
    static const uint64_t stack[] = {0x5001, 0x6001};
    struct segment_copy *copy;
    struct heap_dump *dump = NULL;
    struct error err;

    put_stack(1, stack, 2);
    put_ever(1, 300, 3);
    put_sample(1, 1, 100, 1, 1);
    copy = fixture_copy(&f);
    for (failing = 1; !dump; failing++) {
        ck_assert_uint_lt(failing, 100);
        allocations = 0;
        memset(&err, 0, sizeof(err));
        dump = recorded_heap(copy, 0, &err);
        ck_assert(dump || err.code == ER_OUT_OF_MEMORY);
    }
    ck_assert_uint_gt(failing, 5);
    failing = 0;
    heap_dump_free(dump);
    segment_copy_free(copy);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("recorded_heap");
    TCase *tcase = tcase_create("recorded_heap");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase,
                   an_empty_segment_is_an_empty_profile_of_the_requested_rate);
    tcase_add_test(tcase, each_sample_has_the_weight_of_its_size_and_mean);
    tcase_add_test(tcase, addresses_are_listed_once_and_ascend);
    tcase_add_test(tcase, a_stack_without_frames_changes_no_other);
    tcase_add_test(tcase, two_modules_at_one_place_have_addresses_of_their_own);
    tcase_add_test(tcase,
                   what_was_ever_allocated_is_an_entry_without_live_bytes);
    tcase_add_test(tcase, a_reset_forgets_samples_and_sums);
    tcase_add_test(tcase, a_claim_and_a_sample_without_a_stack_say_nothing);
    tcase_add_loop_test(tcase, scribbles_are_a_profile_or_an_error, 0, 4);
    tcase_add_test(tcase, whichever_allocation_fails_it_is_an_error);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
