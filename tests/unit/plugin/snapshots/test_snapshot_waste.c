/* test_snapshot_waste.c - what waste is counted from, in a snapshot's file. */
#include <stdlib.h>

#include "buffer.h"
#include "failing_memory.h"
#include "live_parts.h"
#include "snapshot.h"
#include "snapshot_body.h"
#include "snapshot_file.h"
#include "suite.h"
#include "waste_fixture.h"

static struct profile *(*const makers[])(void) = {
    fixture_waste, fixture_waste_recorded, fixture_waste_rounded};
enum { MAKERS = 3 };

static struct error err;
static struct buffer body;

static void
encode_body(const struct profile *profile)
{
    bool wrapped;

    buffer_init(&body, SNAPSHOT_BODY_MAX);
    ck_assert_int_eq(snapshot_body_encode(profile, NULL, &wrapped, &body, &err),
                     0);
}

/* An exact copy, so that a sanitizer sees what is read behind it. */
static struct profile *
decode_body(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct profile *profile;

    memcpy(copy, bytes, size);
    profile = snapshot_body_decode(copy, size, true, &err);
    free(copy);
    return profile;
}

static void
check_part(const struct waste_part *a, const struct waste_part *b)
{
    ck_assert_uint_eq(a->stack, b->stack);
    ck_assert_uint_eq(a->number, b->number);
    ck_assert_int_eq((int)a->method, (int)b->method);
    ck_assert_double_eq(a->objects, b->objects);
    ck_assert_double_eq(a->variance, b->variance);
    ck_assert_double_eq(a->bound, b->bound);
    ck_assert_double_eq(a->asked, b->asked);
}

static void
check_same(const struct profile *a, const struct profile *b)
{
    const struct waste *x = a->waste, *y = b->waste;

    ck_assert_ptr_nonnull(y);
    ck_assert(b->wasted);
    ck_assert_int_eq(x->heap.at_ms, y->heap.at_ms);
    ck_assert_uint_eq(x->heap.active, y->heap.active);
    ck_assert_uint_eq(x->heap.large_padding, y->heap.large_padding);
    ck_assert_uint_eq(x->heap.class_count, y->heap.class_count);
    ck_assert_int_eq(
        memcmp(x->heap.classes, y->heap.classes, sizeof(x->heap.classes)), 0);
    ck_assert_double_eq(a->waste_bytes, b->waste_bytes);
    ck_assert_uint_eq(x->count, y->count);
    for (size_t i = 0; i < x->count; i++)
        check_part(&x->parts[i], &y->parts[i]);
    for (size_t i = 0; i < a->stack_count; i++) {
        ck_assert_uint_eq(a->stacks[i].size_class, b->stacks[i].size_class);
        ck_assert_double_eq(a->stacks[i].waste, b->stacks[i].waste);
    }
    ck_assert_int_eq(a->sizes != NULL, b->sizes != NULL);
}

/* Heapwires that do not know of it see the version. */
START_TEST(waste_comes_back)
{
    struct snapshot *original = snapshot_new(), *copy;
    struct buffer file;

    snprintf(original->name, sizeof(original->name), "before");
    original->taken_ms = 1795228267123;
    original->profile = makers[_i]();
    buffer_init(&file, SNAPSHOT_FILE_MAX);
    ck_assert_msg(snapshot_encode(original, &file, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(file.data[8], 7);
    copy = snapshot_decode(file.data, file.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    check_same(original->profile, copy->profile);
    snapshot_unref(copy);
    snapshot_unref(original);
    buffer_fini(&file);
}
END_TEST

START_TEST(a_cut_body_is_rejected)
{
    struct profile *profile = makers[_i]();

    encode_body(profile);
    for (size_t size = 0; size < body.size; size++)
        ck_assert_ptr_null(decode_body(body.data, size));
    buffer_fini(&body);
    profile_free(profile);
}
END_TEST

/* Each byte, to some others: a profile or an error, and nothing worse. */
START_TEST(scribbles_are_a_profile_or_an_error)
{
    static const char bytes[] = {0,          1,          2,         8,
                                 (char)0x7f, (char)0xfd, (char)0xff};
    struct profile *profile = makers[_i](), *read;

    encode_body(profile);
    for (size_t at = 0; at < body.size; at++)
        for (size_t k = 0; k < sizeof(bytes); k++) {
            char kept = body.data[at];

            body.data[at] = bytes[k];
            read = decode_body(body.data, body.size);
            if (read && read->waste)
                ck_assert(read->waste_bytes >= 0);
            profile_free(read);
            body.data[at] = kept;
        }
    buffer_fini(&body);
    profile_free(profile);
}
END_TEST

/* They become integers of SQL, and doubles become sizes again. */
START_TEST(more_than_63_bits_are_rejected)
{
    struct profile *profile = fixture_waste();
    struct waste_heap *heap = &((struct waste *)profile->waste)->heap;
    uint64_t *const figures[] = {&heap->active, &heap->retained,
                                 &heap->classes[0].slab_size,
                                 &heap->classes[heap->class_count - 1].size};

    *figures[_i] = (uint64_t)INT64_MAX + 1;
    encode_body(profile);
    ck_assert_ptr_null(decode_body(body.data, body.size));
    buffer_fini(&body);
    profile_free(profile);
}
END_TEST

START_TEST(whichever_allocation_fails_it_is_an_error)
{
    struct profile *profile = makers[_i](), *read = NULL;

    encode_body(profile);
    for (unsigned last = 1; !read; last++) {
        err.code = 0;
        allocations = 0;
        failing = last;
        read = decode_body(body.data, body.size);
        failing = 0;
        ck_assert(read || err.code == ER_OUT_OF_MEMORY);
    }
    check_same(profile, read);
    profile_free(read);
    buffer_fini(&body);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("snapshot_waste");
    TCase *tc = tcase_create("snapshot_waste");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, waste_comes_back, 0, MAKERS);
    tcase_add_loop_test(tc, a_cut_body_is_rejected, 0, MAKERS);
    tcase_add_loop_test(tc, scribbles_are_a_profile_or_an_error, 0, MAKERS);
    tcase_add_loop_test(tc, more_than_63_bits_are_rejected, 0, 4);
    tcase_add_loop_test(tc, whichever_allocation_fails_it_is_an_error, 0,
                        MAKERS);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
