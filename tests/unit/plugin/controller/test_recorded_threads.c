/* test_recorded_threads.c - a recorder's segment as a heap dump: whose samples
 * they are, and how old. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "failing_memory.h"
#include "heap_dump.h"
#include "recorded_heap.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "segment_read.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SECOND       1000000000ULL

static const struct segment_capacity capacity = {
    .modules = 8, .stacks = 64, .frames = 256, .samples = 64, .threads = 4};
enum { STACK = 7, FIRST = 3, AT_MS = 5000000 };

static int fd;
static struct segment_header *header;
static struct segment_copy *copy;
static struct error err;

static void *
part_at(enum segment_part_id part)
{
    return (char *)header + header->parts[part].offset;
}

/* The sample of place i is 100 + i bytes, and i seconds old; its thread's place
 * and generation are these. */
static const struct {
    uint32_t thread, generation;
    const char *name; /* wanted */
} samples[] = {
    {1, 1, "main"},
    {2, 3, "io-7"},
    {1, 1, "main"},
    {2, 2, ""},
    /* of the one before it */ {UINT32_MAX, 0, ""},
    {99, 1, ""},
    /* none is there */ {3, 0, "a?b"},
};

static void
set_up(void)
{
    static const struct segment_thread threads[] = {
        {0},
        {.tid = 41, .generation = 1, .started_ns = 1000 * SECOND, "main"},
        {.tid = 42, .generation = 3, .started_ns = 2000 * SECOND, "io-7"},
        {.tid = 43, .started_ns = 3000 * SECOND, .name = "a\nb"}};
    struct segment_stack *stacks;
    struct segment_sample *list;
    struct segment_header plan;
    uint64_t *keys, *frames;

    ck_assert(segment_plan(&capacity, &plan));
    fd = segment_make(&plan);
    header = mmap(NULL, plan.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                  fd, 0);
    ck_assert_ptr_ne(header, MAP_FAILED);
    stacks = part_at(SEGMENT_STACKS);
    frames = part_at(SEGMENT_FRAMES);
    keys = part_at(SEGMENT_KEYS);
    list = part_at(SEGMENT_SAMPLES);
    memcpy(part_at(SEGMENT_THREADS), threads, sizeof(threads));
    frames[FIRST] = 0x1234;
    stacks[STACK] = (struct segment_stack){.hash = 99,
                                           .first_frame = FIRST,
                                           .depth = 1,
                                           .allocated_bytes = 5000,
                                           .allocated_objects = 512};
    for (uint32_t i = 0; i < COUNT(samples); i++) {
        keys[i] = 0x1000 + i;
        list[i] =
            (struct segment_sample){.key = keys[i],
                                    .size = 100 + i,
                                    .mean = 1,
                                    .time_ns = (AT_MS / 1000 - i) * SECOND,
                                    .stack = STACK,
                                    .thread = samples[i].thread,
                                    .thread_generation = samples[i].generation};
    }
    copy = segment_read(fd, &err);
    ck_assert_ptr_nonnull(copy);
}

static void
tear_down(void)
{
    segment_copy_free(copy);
    munmap(header, header->segment_bytes);
    close(fd);
}

static void
check_entry(const struct heap_dump *dump, const struct heap_stack *entry)
{
    uint64_t objects = 0, bytes = 0;

    ck_assert_uint_lt(entry->thread, dump->threads.count);
    for (uint32_t i = 0; i < COUNT(samples); i++)
        if (strcmp(dump->threads.list[entry->thread].name, samples[i].name) ==
                0 &&
            entry->age == heap_age_of(i * UINT64_C(1000)) &&
            (AT_MS / 1000 - i) * SECOND >= header->settings.since_ns) {
            objects++;
            bytes += 100 + i;
        }
    ck_assert_uint_eq(entry->objects, objects);
    ck_assert_uint_eq(entry->bytes, bytes);
    ck_assert_double_eq(entry->estimate.objects, (double)objects);
    ck_assert_double_eq(entry->estimate.bytes, (double)bytes);
    ck_assert_double_eq(entry->estimate.variance, 0);
}

START_TEST(samples_have_threads_and_ages)
{
    struct heap_dump *dump = recorded_heap(copy, AT_MS, &err);
    uint64_t live = 0;

    ck_assert_ptr_nonnull(dump);
    ck_assert_uint_eq(dump->threads.count, 4);
    ck_assert_uint_eq(dump->threads.list[0].tid, 0);
    for (size_t i = 0; i < dump->stacks.first->count; i++) {
        const struct heap_stack *entry = &dump->stacks.first->stacks[i];

        if (entry->objects == 0)
            continue;
        check_entry(dump, entry);
        live += entry->objects;
    }
    ck_assert_uint_eq(live, COUNT(samples));
    ck_assert_uint_eq(dump->counted_ms, AT_MS - 1000000);
    heap_dump_free(dump);
}
END_TEST

/* The clock of the recorder is behind by some milliseconds; and a sample may be
 * newer than the moment, where the segment was read later. */
START_TEST(a_sample_from_later_is_young)
{
    struct heap_dump *dump = recorded_heap(copy, 1, &err);

    ck_assert_ptr_nonnull(dump);
    for (size_t i = 0; i < dump->stacks.first->count; i++)
        ck_assert_uint_eq(dump->stacks.first->stacks[i].age, 0);
    ck_assert_uint_eq(dump->counted_ms, 0);
    heap_dump_free(dump);
}
END_TEST

START_TEST(a_reset_forgets_the_sums_alone)
{
    struct heap_dump *dump;

    header->settings.since_ns = (AT_MS / 1000 - 1) * SECOND;
    segment_copy_free(copy);
    copy = segment_read(fd, &err);
    dump = recorded_heap(copy, AT_MS, &err);
    ck_assert_ptr_nonnull(dump);
    ck_assert_uint_eq(dump->counted_ms, 0);
    ck_assert_uint_eq(dump->stack_count, 2);
    ck_assert_uint_eq(dump->threads.count, 3);
    for (size_t i = 0; i < dump->stacks.first->count; i++)
        check_entry(dump, &dump->stacks.first->stacks[i]);
    heap_dump_free(dump);
}
END_TEST

/* The kernel gives the tids of ended threads to others. */
START_TEST(a_tid_is_the_youngest_threads)
{
    struct segment_thread *threads = part_at(SEGMENT_THREADS);
    struct heap_dump *dump;

    threads[2].tid = threads[1].tid;
    segment_copy_free(copy);
    copy = segment_read(fd, &err);
    dump = recorded_heap(copy, AT_MS, &err);
    ck_assert_ptr_nonnull(dump);
    for (size_t i = 1; i < dump->threads.count; i++) {
        const struct heap_thread *thread = &dump->threads.list[i];

        if (strcmp(thread->name, "main") == 0)
            ck_assert_uint_eq(thread->tid, 0);
        else
            ck_assert_uint_eq(thread->tid, thread->name[0] == 'i' ? 41 : 43);
    }
    heap_dump_free(dump);
}
END_TEST

START_TEST(want_of_memory_is_an_error)
{
    struct heap_dump *dump = NULL;
    unsigned last;

    for (last = 1; !dump; last++) {
        allocations = 0;
        failing = last;
        err.code = 0;
        dump = recorded_heap(copy, AT_MS, &err);
        failing = 0;
        ck_assert(dump || err.code == ER_OUT_OF_MEMORY);
    }
    heap_dump_free(dump);
    ck_assert_uint_ge(last, 6);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("recorded_heap");
    TCase *tc = tcase_create("recorded_heap");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, samples_have_threads_and_ages);
    tcase_add_test(tc, a_sample_from_later_is_young);
    tcase_add_test(tc, a_reset_forgets_the_sums_alone);
    tcase_add_test(tc, a_tid_is_the_youngest_threads);
    tcase_add_test(tc, want_of_memory_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
