/* test_snapshot_parts.c - threads and ages in a snapshot's file. */
#include <stdlib.h>

#include "buffer.h"
#include "failing_memory.h"
#include "parts_fixture.h"
#include "snapshot.h"
#include "snapshot_body.h"
#include "snapshot_file.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct snapshot *original;
static struct buffer file, body;
static struct error err;

static void
encode_body(void)
{
    buffer_clear(&body);
    ck_assert_int_eq(snapshot_body_encode(original->profile, NULL,
                                          &(bool){false}, &body, &err),
                     0);
}

static void
set_up(void)
{
    original = snapshot_new();
    snprintf(original->name, sizeof(original->name), "before");
    original->taken_ms = 1795228267123;
    original->profile = fixture_parts();
    buffer_init(&file, SNAPSHOT_FILE_MAX);
    ck_assert_msg(snapshot_encode(original, &file, &err) == 0, "%s", err.text);
    buffer_init(&body, SNAPSHOT_BODY_MAX);
    encode_body();
}

static void
tear_down(void)
{
    snapshot_unref(original);
    buffer_fini(&file);
    buffer_fini(&body);
}

/* An exact copy, so that a sanitizer sees what is read behind it. */
static struct profile *
decode_body(size_t size, bool foreign)
{
    char *copy = malloc(size ? size : 1);
    struct profile *profile;

    memcpy(copy, body.data, size);
    profile = snapshot_body_decode(copy, size, foreign, &err);
    free(copy);
    return profile;
}

static void
check_same(const struct profile *a, const struct profile *b)
{
    const struct live_parts *x = a->parts, *y = b->parts;

    ck_assert_ptr_nonnull(y);
    ck_assert_uint_eq(a->counted_ms, b->counted_ms);
    ck_assert_uint_eq(x->threads.count, y->threads.count);
    for (size_t i = 0; i < x->threads.count; i++) {
        ck_assert_uint_eq(x->threads.list[i].tid, y->threads.list[i].tid);
        ck_assert_str_eq(x->threads.list[i].name, y->threads.list[i].name);
    }
    ck_assert_uint_eq(x->count, y->count);
    for (size_t i = 0; i < x->count; i++) {
        ck_assert_uint_eq(x->list[i].stack, y->list[i].stack);
        ck_assert_uint_eq(x->list[i].thread, y->list[i].thread);
        ck_assert_uint_eq(x->list[i].age, y->list[i].age);
        ck_assert_uint_eq(x->list[i].samples, y->list[i].samples);
        ck_assert_double_eq(x->list[i].objects, y->list[i].objects);
        ck_assert_double_eq(x->list[i].bytes, y->list[i].bytes);
    }
}

/* Heapwires that do not know of them see the version. */
START_TEST(threads_and_ages_come_back)
{
    struct snapshot *copy = snapshot_decode(file.data, file.size, &err);

    ck_assert_msg(copy != NULL, "%s", err.text);
    ck_assert_uint_eq(file.data[8], 5);
    check_same(original->profile, copy->profile);
    snapshot_unref(copy);
}
END_TEST

/* They have numbers, and their version says so. */
START_TEST(jemallocs_threads_come_back)
{
    struct snapshot *copy;

    profile_free(original->profile);
    original->profile = fixture_profile(
        "heap_v2/1\nt0: 1: 1 [0: 0] main\nt900: 1: 1 [0: 0] io-1\n"
        "@ 0x1000 0x2001\nt*: 3: 300 [0: 0]\nt0: 1: 100 [0: 0]\n"
        "t900: 2: 200 [0: 0]\n",
        fixture_part_names, NULL);
    buffer_clear(&file);
    ck_assert_int_eq(snapshot_encode(original, &file, &err), 0);
    ck_assert_uint_eq(file.data[8], 8);
    copy = snapshot_decode(file.data, file.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    check_same(original->profile, copy->profile);
    ck_assert(live_parts_numbered(copy->profile->parts));
    ck_assert_uint_eq(copy->profile->parts->threads.list[2].number, 901);
    snapshot_unref(copy);
    encode_body();
    for (size_t size = 0; size < body.size; size++)
        ck_assert_ptr_null(decode_body(size, false));
}
END_TEST

START_TEST(other_snapshots_have_the_version_of_before)
{
    const struct live_parts *parts = original->profile->parts;
    struct snapshot *copy;

    original->profile->parts = NULL;
    buffer_clear(&file);
    ck_assert_int_eq(snapshot_encode(original, &file, &err), 0);
    ck_assert_uint_eq(file.data[8], 2);
    copy = snapshot_decode(file.data, file.size, &err);
    ck_assert_ptr_nonnull(copy);
    ck_assert_ptr_null(copy->profile->parts);
    ck_assert_uint_eq(copy->profile->counted_ms, 0);
    snapshot_unref(copy);
    original->profile->parts = parts;
}
END_TEST

START_TEST(names_from_outside_are_cleaned)
{
    struct heap_thread *threads =
        (struct heap_thread *)original->profile->parts->threads.list;
    struct profile *copy;

    threads[1].name = "a\x1b[31m";
    encode_body();
    copy = decode_body(body.size, false);
    ck_assert_str_eq(copy->parts->threads.list[1].name, "a\x1b[31m");
    profile_free(copy);
    copy = decode_body(body.size, true);
    ck_assert_str_eq(copy->parts->threads.list[1].name, "a?[31m");
    profile_free(copy);
}
END_TEST

START_TEST(a_cut_body_is_rejected)
{
    for (size_t size = 0; size < body.size; size++)
        ck_assert_ptr_null(decode_body(size, false));
}
END_TEST

/* One member of the part, the third, or of the thread, the second. */
static const struct {
    uint32_t stack, thread, age;
    double bytes;
    const char *name;
} wrong[] = {
    {3, 2, 0, 1, "n"},
    {0, FIXTURE_THREADS, 0, 1, "n"},
    {0, 2, 8, 1, "n"},
    {0, 2, 255, 1, "n"},
    {0, 2, 0, -1, "n"},
    {0, 2, 0, 1.5e308, "n"},
    {0, 1, 3, 1, "n"}, /* as the one before */
    {0, 1, 2, 1, "n"}, /* before it */
    {0, 2, 0, 1, "sixteen bytes..."},
};

START_TEST(what_makes_no_sense_is_rejected)
{
    const struct live_parts *parts = original->profile->parts;
    struct live_part *part = (struct live_part *)&parts->list[2];

    part->stack = wrong[_i].stack;
    part->thread = wrong[_i].thread;
    part->age = wrong[_i].age;
    part->bytes = wrong[_i].bytes;
    ((struct heap_thread *)parts->threads.list)[1].name = wrong[_i].name;
    encode_body();
    ck_assert_ptr_null(decode_body(body.size, false));
    ck_assert_str_eq(err.text, "its body makes no sense");
}
END_TEST

static void
check_parts(const struct profile *profile)
{
    const struct live_parts *parts = profile->parts;

    for (size_t i = 0; parts && i < parts->count; i++) {
        const struct live_part *part = &parts->list[i];

        ck_assert_uint_lt(part->stack, profile->stack_count);
        ck_assert_uint_lt(part->thread, parts->threads.count);
        ck_assert_uint_lt(part->age, HEAP_AGE_CLASSES);
        ck_assert(i == 0 || part->stack >= part[-1].stack);
        ck_assert(part->bytes >= 0 && part->objects >= 0);
    }
}

START_TEST(any_body_is_rejected_or_makes_sense)
{
    size_t made = 0;

    srand((unsigned)_i);
    for (int round = 0; round < 4000; round++) {
        size_t at = (size_t)rand() % body.size; /* NOLINT */
        char before = body.data[at];
        struct profile *profile;

        body.data[at] = (char)(rand() >> 5); /* NOLINT */
        profile = decode_body(body.size, true);
        if (profile)
            check_parts(profile);
        made += profile != NULL;
        profile_free(profile);
        body.data[at] = before;
    }
    ck_assert_uint_gt(made, 0);
}
END_TEST

START_TEST(want_of_memory_is_an_error)
{
    struct snapshot *copy = NULL;
    unsigned last;

    for (last = 1; !copy; last++) {
        err.code = 0;
        allocations = 0;
        failing = last;
        copy = snapshot_decode(file.data, file.size, &err);
        failing = 0;
        ck_assert(copy || err.code == ER_OUT_OF_MEMORY);
    }
    check_same(original->profile, copy->profile);
    snapshot_unref(copy);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("snapshot_parts");
    TCase *tc = tcase_create("snapshot_parts");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, threads_and_ages_come_back);
    tcase_add_test(tc, jemallocs_threads_come_back);
    tcase_add_test(tc, other_snapshots_have_the_version_of_before);
    tcase_add_test(tc, names_from_outside_are_cleaned);
    tcase_add_test(tc, a_cut_body_is_rejected);
    tcase_add_loop_test(tc, what_makes_no_sense_is_rejected, 0, COUNT(wrong));
    tcase_add_loop_test(tc, any_body_is_rejected_or_makes_sense, 0, 4);
    tcase_add_test(tc, want_of_memory_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
