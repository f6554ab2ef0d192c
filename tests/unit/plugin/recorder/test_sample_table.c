/* test_sample_table.c - the recorder's tables, in this process. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block_filter.h"
#include "claim_segment.h"
#include "recorder_state.h"
#include "sample_table.h"
#include "sample_thin.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "stack_table.h"
#include "suite.h"
#include "thread_list.h"

enum { PLACES = 1024, STACKS = 128, FRAMES = 300, THREADS = 4 };

static int fd;

static void
set_up(void)
{
    const struct segment_capacity capacity = {.modules = 8,
                                              .stacks = STACKS,
                                              .frames = FRAMES,
                                              .samples = PLACES,
                                              .threads = THREADS};
    struct segment_header header;
    char variable[64], *environment[] = {variable, NULL};

    ck_assert(segment_plan(&capacity, &header));
    fd = segment_make(&header);
    ck_assert_int_ge(fd, 0);
    snprintf(variable, sizeof(variable), RECORDER_ENV "=%d", fd);
    claim_segment(environment);
    ck_assert(recorder_is_alive());
    recorder_state.header->mean_bytes = 1;
    recorder_state.header->mean_large = 1;
}

static void
tear_down(void)
{
    close(fd);
}

/* Addresses as an allocator gives them; nothing is there. */
static uint64_t
block(uint64_t i)
{
    return 0x7f0000001000ULL + i * 48;
}

static void *
pointer(uint64_t i)
{
    return (void *)block(i); // NOLINT(performance-no-int-to-ptr)
}

static bool
insert(uint64_t i, uint64_t size)
{
    struct segment_sample sample = {.key = block(i), .size = size, .mean = 1};

    return sample_insert(&sample);
}

START_TEST(what_is_inserted_is_removed_once)
{
    struct segment_sample sample;

    for (uint64_t i = 0; i < 100; i++)
        ck_assert(insert(i, i));
    for (uint64_t i = 0; i < 100; i++) {
        ck_assert(block_filter_hits(pointer(i)));
        ck_assert(sample_remove(pointer(i), &sample));
        ck_assert_uint_eq(sample.size, i);
        ck_assert(!sample_remove(pointer(i), &sample));
        ck_assert(!block_filter_hits(pointer(i)));
    }
    ck_assert_uint_eq(recorder_state.header->live_samples, 0);
    ck_assert(!sample_remove(NULL, &sample));
}
END_TEST

START_TEST(a_key_that_is_there_is_replaced)
{
    struct segment_sample sample;

    ck_assert(insert(1, 10));
    ck_assert(insert(1, SEGMENT_LARGE));
    ck_assert_uint_eq(recorder_state.header->live_samples, 1);
    ck_assert_uint_eq(recorder_state.header->live_large, 1);
    ck_assert(sample_remove(pointer(1), &sample));
    ck_assert_uint_eq(sample.size, SEGMENT_LARGE);
    ck_assert(!block_filter_hits(pointer(1)));
    ck_assert_uint_eq(recorder_state.header->live_large, 0);
}
END_TEST

START_TEST(a_table_is_well_filled_before_it_refuses_and_loses_nothing)
{
    struct segment_sample sample;
    uint64_t count = 0;

    while (insert(count, count))
        count++;
    ck_assert_uint_gt(count, PLACES * 5 / 8);
    for (uint64_t i = 0; i < count; i++) {
        ck_assert(sample_remove(pointer(i), &sample));
        ck_assert_uint_eq(sample.size, i);
    }
    ck_assert_uint_eq(recorder_state.header->live_samples, 0);
}
END_TEST

START_TEST(a_sample_that_is_held_is_put_back_or_dropped)
{
    struct segment_sample sample;
    uint32_t held;

    ck_assert_uint_eq(sample_claim_realloc(pointer(1), &sample), 0);
    ck_assert(insert(1, 10));
    held = sample_claim_realloc(pointer(1), &sample);
    ck_assert_uint_ne(held, 0);
    ck_assert(!sample_remove(pointer(1), &sample));
    sample_put_back(pointer(1), held);
    ck_assert_uint_eq(sample_claim_realloc(pointer(1), &sample), held);
    sample_drop(&sample, held);
    ck_assert(!sample_remove(pointer(1), &sample));
    ck_assert(!block_filter_hits(pointer(1)));
    ck_assert_uint_eq(recorder_state.header->live_samples, 0);
}
END_TEST

START_TEST(a_full_table_is_thinned)
{
    uint64_t count = 0;

    while (!sample_table_is_full())
        ck_assert(insert(count++, 100));
    ck_assert(sample_thin());
    ck_assert(!sample_table_is_full());
    ck_assert_uint_gt(recorder_state.header->mean_bytes, 32);
    ck_assert_uint_eq(recorder_state.header->mean_large, 1);
    ck_assert_uint_gt(recorder_state.header->live_samples, PLACES / 4);
    /* Another thread is at it; or this one was, and left it by longjmp. */
    recorder_state.header->thinning = 2;
    ck_assert(!sample_thin());
    recorder_state.header->thinning = (uint32_t)getpid();
    ck_assert(sample_thin());
}
END_TEST

START_TEST(a_thread_that_found_no_slot_looks_for_none_again)
{
    recorder_state.header->thread_count = THREADS;
    for (int i = 0; i < THREADS; i++)
        recorder_state.threads[i].tid = (uint32_t)getpid();
    thread_list_join(1);
    ck_assert_uint_eq(recorder_local.thread, 0);
    ck_assert_uint_eq(recorder_state.header->missed_threads, 1);
    for (int i = 0; i < THREADS; i++)
        recorder_state.threads[i].tid = INT32_MAX; /* gone */
    thread_list_join(1);
    ck_assert_uint_eq(recorder_local.thread, 0);
    ck_assert_uint_eq(recorder_state.header->missed_threads, 2);
    recorder_local.no_thread_slot = false;
    thread_list_join(1);
    ck_assert_uint_ne(recorder_local.thread, 0);
}
END_TEST

START_TEST(thinning_finds_the_claims_of_those_who_are_gone)
{
    const uint64_t ours = SEGMENT_CLAIM | 1, other = SEGMENT_CLAIM | 2;
    const uint64_t generation = 1ULL << 32;
    uint64_t *keys = recorder_state.keys;

    recorder_local.thread = 1;
    recorder_state.threads[1].generation = 1;
    keys[0] = ours;
    keys[1] = ours | SEGMENT_REALLOC;
    keys[2] = other | generation;
    keys[3] = other | 2 * generation;
    keys[4] = other | SEGMENT_REALLOC;
    ck_assert(sample_thin());
    ck_assert_uint_eq(keys[0], 0);
    ck_assert_uint_eq(keys[1], ours | SEGMENT_REALLOC);
    ck_assert_uint_eq(keys[2], other | generation);
    ck_assert_uint_eq(keys[3], 0);
    ck_assert_uint_eq(keys[4], 0);
}
END_TEST

START_TEST(a_forked_child_finds_nothing)
{
    int status;
    pid_t child;

    ck_assert(insert(1, 10));
    child = fork();
    if (child == 0)
        _exit(recorder_is_alive() || block_filter_hits(pointer(1)));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(block_filter_hits(pointer(1)));
}
END_TEST

START_TEST(a_stack_is_kept_once_while_there_is_room)
{
    uint64_t frames[3] = {0x1000, 0x2000, 0};
    uint32_t seen = 0, first, stack;
    bool fresh;

    first = stack_find(frames, 3, &fresh);
    ck_assert(fresh && first != SEGMENT_STACK_LOST);
    ck_assert_uint_eq(stack_find(frames, 3, &fresh), first);
    ck_assert(!fresh);
    ck_assert_uint_ne(stack_find(frames, 2, &fresh), first);
    ck_assert(fresh);
    do {
        frames[2]++;
        stack = stack_find(frames, 3, &fresh);
        seen++;
    } while (stack != SEGMENT_STACK_LOST);
    ck_assert_uint_eq(seen, FRAMES / 3 - 1); /* but for the first two */
    ck_assert_uint_eq(recorder_state.header->lost_stacks, 1);
    ck_assert_uint_eq(stack_find(frames, 0, &fresh), SEGMENT_STACK_LOST);
    frames[2] = 1;
    ck_assert_uint_ne(stack_find(frames, 3, &fresh), SEGMENT_STACK_LOST);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("sample_table");
    TCase *tcase = tcase_create("sample_table");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, what_is_inserted_is_removed_once);
    tcase_add_test(tcase, a_key_that_is_there_is_replaced);
    tcase_add_test(tcase,
                   a_table_is_well_filled_before_it_refuses_and_loses_nothing);
    tcase_add_test(tcase, a_sample_that_is_held_is_put_back_or_dropped);
    tcase_add_test(tcase, a_full_table_is_thinned);
    tcase_add_test(tcase, a_thread_that_found_no_slot_looks_for_none_again);
    tcase_add_test(tcase, thinning_finds_the_claims_of_those_who_are_gone);
    tcase_add_test(tcase, a_forked_child_finds_nothing);
    tcase_add_test(tcase, a_stack_is_kept_once_while_there_is_room);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
