/* test_segment_read.c - a segment read back, whole and spoilt. */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "segment_read.h"
#include "suite.h"

enum { STACK = 7, FIRST = 3, PLACE = 12, MODULE = 0, THREAD = 1 };
/* In the copy, the lost one before it. */
enum { SEEN = 1 };

static const struct segment_capacity capacity = {
    .modules = 8, .stacks = 64, .frames = 256, .samples = 64, .threads = 4};

/* A segment with one of each, mapped. */
struct fixture {
    int fd;
    struct segment_header *header;
    struct segment_module *modules;
    struct segment_stack *stacks;
    uint64_t *frames, *keys;
    struct segment_sample *samples;
    struct segment_thread *threads;
};

static struct fixture f;

static void *
part_at(enum segment_part_id part)
{
    return (char *)f.header + f.header->parts[part].offset;
}

static void
set_up(void)
{
    struct segment_header header;

    ck_assert(segment_plan(&capacity, &header));
    f.fd = segment_make(&header);
    ck_assert_int_ge(f.fd, 0);
    f.header = mmap(NULL, header.segment_bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED, f.fd, 0);
    ck_assert_ptr_ne(f.header, MAP_FAILED);
    f.modules = part_at(SEGMENT_MODULES);
    f.stacks = part_at(SEGMENT_STACKS);
    f.frames = part_at(SEGMENT_FRAMES);
    f.keys = part_at(SEGMENT_KEYS);
    f.samples = part_at(SEGMENT_SAMPLES);
    f.threads = part_at(SEGMENT_THREADS);

    f.modules[MODULE] = (struct segment_module){
        .start = 0x1000, .end = 0x9000, .path_size = 2, .path = "/x"};
    f.frames[FIRST] = 0x1234 | 1ULL << SEGMENT_PC_BITS;
    f.frames[FIRST + 1] = 0xffff; /* of no module */
    f.stacks[STACK] = (struct segment_stack){.hash = 99,
                                             .first_frame = FIRST,
                                             .depth = 2,
                                             .allocated_bytes = 5000,
                                             .allocated_objects = 512};
    f.samples[PLACE] = (struct segment_sample){.key = 0x5550,
                                               .size = 1000,
                                               .mean = 1,
                                               .stack = STACK,
                                               .thread = THREAD};
    f.keys[PLACE] = 0x5550;
    f.threads[THREAD] = (struct segment_thread){.tid = 42, .name = "worker"};
}

static void
tear_down(void)
{
    munmap(f.header, f.header->segment_bytes);
    close(f.fd);
}

/* All that a copy gives, summed: what an observer would touch. */
static double
visit(const struct segment_copy *copy)
{
    struct segment_stack_seen stack;
    struct segment_sample sample;
    struct segment_module module;
    struct segment_thread thread;
    double live = 0, weight;
    uint64_t pc;
    uint32_t frame_module;

    for (uint32_t i = 0; i <= segment_copy_count(copy, SEGMENT_STACKS); i++) {
        if (!segment_copy_stack(copy, i, &stack))
            continue;
        live += stack.live_bytes;
        for (uint32_t n = 0; segment_copy_frame(copy, i, n, &pc, &frame_module);
             n++) {
            ck_assert_uint_lt(n, SEGMENT_DEPTH_MAX);
            if (frame_module != UINT32_MAX)
                ck_assert(segment_copy_module(copy, frame_module, &module));
        }
    }
    for (uint32_t i = 0; i <= segment_copy_count(copy, SEGMENT_SAMPLES); i++) {
        if (segment_copy_sample(copy, i, &sample, &weight))
            segment_copy_thread(copy, sample.thread, &thread);
    }
    return live;
}

START_TEST(what_was_written_is_read)
{
    struct error err;
    struct segment_copy *copy = segment_read(f.fd, &err);
    struct segment_stack_seen stack;
    struct segment_sample sample;
    struct segment_thread thread;
    uint64_t pc;
    uint32_t module;
    double weight;

    ck_assert_ptr_nonnull(copy);
    ck_assert_int_eq(segment_copy_check(copy, &err), 0);
    ck_assert(segment_copy_stack(copy, SEEN, &stack));
    ck_assert_double_eq(stack.live_bytes, 1000);
    ck_assert_double_eq(stack.live_objects, 1);
    ck_assert_double_eq(stack.allocated_bytes, 5000);
    ck_assert_double_eq(stack.allocated_objects, 2);
    ck_assert(!segment_copy_stack(copy, SEEN + 1, &stack));
    ck_assert(segment_copy_frame(copy, SEEN, 0, &pc, &module));
    ck_assert_uint_eq(pc, 0x1234);
    ck_assert_uint_eq(module, MODULE);
    ck_assert(segment_copy_frame(copy, SEEN, 1, &pc, &module));
    ck_assert_uint_eq(module, UINT32_MAX);
    ck_assert(!segment_copy_frame(copy, SEEN, 2, &pc, &module));
    ck_assert(segment_copy_sample(copy, 0, &sample, &weight));
    ck_assert_uint_eq(sample.size, 1000);
    ck_assert_double_eq(weight, 1);
    ck_assert(segment_copy_thread(copy, THREAD, &thread));
    ck_assert_str_eq(thread.name, "worker");
    ck_assert(!segment_copy_thread(copy, THREAD + 1, &thread));
    segment_copy_free(copy);
}
END_TEST

START_TEST(a_sample_stands_for_those_that_were_not_taken)
{
    struct error err;
    struct segment_copy *copy;
    struct segment_stack_seen stack;

    f.samples[PLACE].size = 99;
    f.samples[PLACE].mean = 1000;
    copy = segment_read(f.fd, &err);
    ck_assert(segment_copy_stack(copy, SEEN, &stack));
    /* 1 / (1 - e^-0.1) */
    ck_assert_double_eq_tol(stack.live_objects, 10.508331944775, 1e-9);
    ck_assert_double_eq_tol(stack.live_bytes, 99 * 10.508331944775, 1e-7);
    segment_copy_free(copy);
}
END_TEST

START_TEST(the_work_of_a_writer_who_was_killed_is_no_sample)
{
    struct error err;
    struct segment_copy *copy;

    f.keys[PLACE] = SEGMENT_CLAIM | 5;
    f.keys[PLACE + 1] = 0x7770; /* its fields are another's */
    copy = segment_read(f.fd, &err);
    ck_assert_int_eq(segment_copy_check(copy, &err), 0);
    ck_assert_double_eq(visit(copy), 0);
    segment_copy_free(copy);
}
END_TEST

START_TEST(a_sample_that_a_realloc_holds_counts)
{
    struct error err;
    struct segment_copy *copy;
    struct segment_sample sample;
    double weight;

    f.keys[PLACE] = SEGMENT_CLAIM | SEGMENT_REALLOC | 5;
    copy = segment_read(f.fd, &err);
    ck_assert_int_eq(segment_copy_check(copy, &err), 0);
    ck_assert_double_eq(visit(copy), 1000);
    ck_assert(segment_copy_sample(copy, 0, &sample, &weight));
    ck_assert_uint_eq(sample.key, 0x5550);
    segment_copy_free(copy);
}
END_TEST

/* What is damaged, and the live bytes that are left. */
static void
no_stack(void)
{
    f.samples[PLACE].stack = 64;
}
static void
unpublished_stack(void)
{
    f.samples[PLACE].stack = STACK + 1;
}
static void
far_stack(void)
{
    f.samples[PLACE].stack = UINT32_MAX;
}
static void
endless_size(void)
{
    f.samples[PLACE].size = UINT64_MAX;
}
static void
endless_mean(void)
{
    f.samples[PLACE].mean = UINT64_MAX;
}
static void
deep_stack(void)
{
    f.stacks[STACK].depth = UINT32_MAX;
}
static void
frames_past_the_end(void)
{
    f.stacks[STACK].first_frame = 255;
}
static void
frames_far_away(void)
{
    f.stacks[STACK].first_frame = UINT32_MAX;
}

static void (*const damages[])(void) = {
    no_stack,     unpublished_stack, far_stack,           endless_size,
    endless_mean, deep_stack,        frames_past_the_end, frames_far_away,
};

START_TEST(what_cannot_be_is_left_out_and_said)
{
    struct error err;
    struct segment_copy *copy;
    struct segment_sample sample;
    double weight;

    f.samples[PLACE + 1] = (struct segment_sample){
        .key = 0x8880, .size = 30, .mean = 1, .stack = SEGMENT_STACK_LOST};
    f.keys[PLACE + 1] = 0x8880;
    damages[_i]();
    copy = segment_read(f.fd, &err);
    ck_assert_ptr_nonnull(copy);
    ck_assert_int_eq(segment_copy_check(copy, &err), -1);
    ck_assert_double_eq(visit(copy), 30);
    ck_assert(segment_copy_sample(copy, 0, &sample, &weight));
    ck_assert_uint_eq(sample.key, 0x8880);
    ck_assert(!segment_copy_sample(copy, 1, &sample, &weight));
    segment_copy_free(copy);
}
END_TEST

START_TEST(a_frame_of_a_module_that_is_not_there_has_none)
{
    struct error err;
    struct segment_copy *copy;
    uint64_t pc;
    uint32_t module;

    f.frames[FIRST] = 0x1234 | 0xffffULL << SEGMENT_PC_BITS;
    f.frames[FIRST + 1] = 0x1234 | 2ULL << SEGMENT_PC_BITS;
    copy = segment_read(f.fd, &err);
    ck_assert(segment_copy_frame(copy, SEEN, 0, &pc, &module));
    ck_assert_uint_eq(module, UINT32_MAX);
    ck_assert(segment_copy_frame(copy, SEEN, 1, &pc, &module));
    ck_assert_uint_eq(module, UINT32_MAX);
    segment_copy_free(copy);
}
END_TEST

/* Each byte of the layout in turn, to several values. */
START_TEST(a_header_that_is_wrong_anywhere_is_refused_or_read_in_bounds)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    uint8_t *bytes = (uint8_t *)f.header;
    const size_t layout = offsetof(struct segment_header, patch);
    const size_t size = f.header->segment_bytes;
    int refused = 0;

    for (size_t i = 0; i < layout; i++) {
        const uint8_t before = bytes[i];

        for (size_t v = 0; v < sizeof(values); v++) {
            struct error err;
            struct segment_copy *copy;

            bytes[i] = values[v];
            copy = segment_read(f.fd, &err);
            refused += copy == NULL;
            if (copy)
                visit(copy);
            segment_copy_free(copy);
        }
        bytes[i] = before;
    }
    ck_assert_int_gt(refused, (int)layout * 3);
    ck_assert_uint_eq(f.header->segment_bytes, size);
}
END_TEST

START_TEST(bytes_at_random_are_read_in_bounds)
{
    uint64_t random = (uint64_t)_i + 1;
    uint8_t *bytes = (uint8_t *)f.header;
    struct error err;

    for (int round = 0; round < 40; round++) {
        struct segment_copy *copy;

        for (size_t i = SEGMENT_HEADER_BYTES; i < f.header->segment_bytes;
             i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            /* Small numbers look more like what could be. */
            if (random >> 62 == 0 || _i % 2 == 0)
                bytes[i] = (uint8_t)(random >> (random & 1 ? 56 : 62));
        }
        /* Keys that their fields bear out. */
        for (uint32_t i = 0; i < capacity.samples; i++)
            f.samples[i].key = f.keys[i];
        copy = segment_read(f.fd, &err);
        ck_assert_ptr_nonnull(copy);
        visit(copy);
        segment_copy_free(copy);
    }
}
END_TEST

START_TEST(a_hole_is_left_a_hole)
{
    struct error err;
    struct segment_copy *copy;
    struct stat before, after;

    ck_assert_int_eq(fstat(f.fd, &before), 0);
    copy = segment_read(f.fd, &err);
    ck_assert_ptr_nonnull(copy);
    segment_copy_free(copy);
    ck_assert_int_eq(fstat(f.fd, &after), 0);
    ck_assert_int_eq(before.st_blocks, after.st_blocks);
}
END_TEST

/* Where a part has none, data behind it is another's. */
START_TEST(an_unused_part_has_no_entries)
{
    struct segment_capacity usual = segment_capacity_default();
    struct segment_header header;
    struct segment_thread thread = {.tid = 42};
    struct segment_copy *copy;
    struct error err;
    int fd;

    ck_assert(segment_plan(&usual, &header));
    fd = segment_make(&header);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, &thread, sizeof(thread),
                            (off_t)header.parts[SEGMENT_THREADS].offset),
                     sizeof(thread));
    copy = segment_read(fd, &err);
    ck_assert_ptr_nonnull(copy);
    ck_assert_int_eq(segment_copy_check(copy, &err), 0);
    ck_assert_uint_eq(segment_copy_count(copy, SEGMENT_STACKS), 1);
    ck_assert_uint_eq(segment_copy_count(copy, SEGMENT_SAMPLES), 0);
    segment_copy_free(copy);
    close(fd);
}
END_TEST

START_TEST(what_is_no_segment_is_refused)
{
    char name[] = "/tmp/segment_read_XXXXXX";
    int fd = mkstemp(name);
    struct error err;

    ck_assert_int_ge(fd, 0);
    unlink(name);
    ck_assert_ptr_null(segment_read(fd, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "too short"));
    ck_assert_int_eq((int)write(fd, f.header, SEGMENT_HEADER_BYTES),
                     SEGMENT_HEADER_BYTES);
    ck_assert_ptr_null(segment_read(fd, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "size"));
    ck_assert_ptr_null(segment_read(-1, &err));
    close(fd);
}
END_TEST

START_TEST(a_segment_has_its_seals)
{
    struct segment_header header;

    ck_assert_int_eq(ftruncate(f.fd, 1), -1);
    ck_assert_int_eq(ftruncate(f.fd, (off_t)f.header->segment_bytes + 1), -1);
    ck_assert(!segment_plan(&(struct segment_capacity){.modules = 1}, &header));
    ck_assert(
        !segment_plan(&(struct segment_capacity){8, 64, 256, 63, 4}, &header));
    ck_assert(!segment_plan(
        &(struct segment_capacity){8, 64, UINT32_MAX, 64, 4}, &header));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("segment_read");
    TCase *tcase = tcase_create("segment_read");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, what_was_written_is_read);
    tcase_add_test(tcase, a_sample_stands_for_those_that_were_not_taken);
    tcase_add_test(tcase, the_work_of_a_writer_who_was_killed_is_no_sample);
    tcase_add_test(tcase, a_sample_that_a_realloc_holds_counts);
    tcase_add_loop_test(tcase, what_cannot_be_is_left_out_and_said, 0,
                        sizeof(damages) / sizeof(damages[0]));
    tcase_add_test(tcase, a_frame_of_a_module_that_is_not_there_has_none);
    tcase_add_test(
        tcase, a_header_that_is_wrong_anywhere_is_refused_or_read_in_bounds);
    tcase_add_loop_test(tcase, bytes_at_random_are_read_in_bounds, 0, 4);
    tcase_add_test(tcase, a_hole_is_left_a_hole);
    tcase_add_test(tcase, an_unused_part_has_no_entries);
    tcase_add_test(tcase, what_is_no_segment_is_refused);
    tcase_add_test(tcase, a_segment_has_its_seals);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
