/*
 * test_decode_budget.c - what decodes asks first, whatever it decodes, and
 * gives all back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include "buffer.h"
#include "errors.h"
#include "memory_budget.h"
#include "snapshot_file.h"
#include "snapshot_fixture.h"
#include "snapshot_head.h"
#include "suite.h"

static struct error err;

/* A file whose packed body unpacks to these bytes. */
static void
make_file(const struct buffer *body, struct buffer *file)
{
    struct snapshot *snapshot = fixture_snapshot("bomb", 1);
    uLong packed = compressBound((uLong)body->size);
    struct snapshot_body place = {.size = body->size};
    Bytef *bytes = malloc(packed);

    ck_assert_int_eq(compress2(bytes, &packed, (const Bytef *)body->data,
                               (uLong)body->size, 9),
                     Z_OK);
    place.packed = packed;
    place.checksum = (uint32_t)crc32(0, bytes, (uInt)packed);
    buffer_init(file, SNAPSHOT_FILE_MAX);
    snapshot_head_encode(snapshot, &place, file);
    buffer_add(file, bytes, packed);
    ck_assert(!file->failed);
    free(bytes);
    snapshot_unref(snapshot);
}

static void
add_zeros(struct buffer *out, size_t count)
{
    char *zeros = calloc(1, count);

    buffer_add(out, zeros, count);
    free(zeros);
}

/* Each byte of the body would take 24. */
START_TEST(a_small_file_does_not_become_a_gigabyte)
{
    enum { TEXTS = 12 << 20 };
    struct buffer body, file;

    buffer_init(&body, SNAPSHOT_FILE_MAX);
    buffer_lenenc(&body, TEXTS);
    add_zeros(&body, TEXTS + 100);
    make_file(&body, &file);
    ck_assert_uint_lt(file.size, 20000);
    ck_assert_ptr_null(_i ? snapshot_import(file.data, file.size, &err)
                          : snapshot_decode(file.data, file.size, &err));
    ck_assert_int_eq(err.code, ER_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.sqlstate, "HY000");
    ck_assert_ptr_nonnull(
        strstr(err.text, "at one time may take at most 192 MB"));
    ck_assert_uint_eq(decode_budget_used(), 0);
    buffer_fini(&body);
    buffer_fini(&file);
}
END_TEST

/* Nothing is decoded where its declared size has no room. */
START_TEST(the_declared_size_is_asked_for_first)
{
    struct buffer body, file;

    buffer_init(&body, SNAPSHOT_FILE_MAX);
    add_zeros(&body, 2 << 20);
    make_file(&body, &file);
    decode_budget_set(1 << 20);
    ck_assert_ptr_null(snapshot_decode(file.data, file.size, &err));
    ck_assert_int_eq(err.code, ER_OUT_OF_RESOURCES);
    decode_budget_set(0); /* what is wrong with it is seen then */
    ck_assert_ptr_null(snapshot_decode(file.data, file.size, &err));
    ck_assert_int_eq(err.code, ER_UNKNOWN);
    ck_assert_uint_eq(decode_budget_used(), 0);
    buffer_fini(&body);
    buffer_fini(&file);
}
END_TEST

START_TEST(unknown_free_memory_is_not_none)
{
    struct rlimit files, no_files;
    struct buffer body, file;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    no_files = (struct rlimit){0, files.rlim_max};
    buffer_init(&body, SNAPSHOT_FILE_MAX);
    add_zeros(&body, 2 << 20);
    make_file(&body, &file);
    decode_budget_set(1 << 20);
    ck_assert_ptr_null(snapshot_decode(file.data, file.size, &err));
    ck_assert_ptr_nonnull(strstr(err.text, " MB are left now)"));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &no_files), 0);
    ck_assert_ptr_null(snapshot_decode(file.data, file.size, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "(how much is not known)"));
    /* The leak sanitizer opens files at the end. */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    buffer_fini(&body);
    buffer_fini(&file);
}
END_TEST

/* With every ceiling it is either refused, and nothing is left taken, or there
 * is room for all that lives. */
static void
check_ceilings(const char *bytes, size_t size, size_t step)
{
    struct snapshot *snapshot = NULL;
    size_t ceiling = step;

    for (; !snapshot; ceiling += step) {
        decode_budget_set(ceiling);
        snapshot = snapshot_import(bytes, size, &err);
        ck_assert(snapshot || err.code == ER_OUT_OF_RESOURCES);
        ck_assert_uint_le(decode_budget_used(), snapshot ? ceiling : 0);
    }
    ck_assert_uint_gt(ceiling, 4 * step);
    ck_assert_uint_ge(decode_budget_used(), profile_bytes(snapshot->profile));
    /* The second finds the first one's taken. */
    decode_budget_set(decode_budget_used() + step);
    ck_assert_ptr_null(snapshot_import(bytes, size, &err));
    ck_assert_int_eq(err.code, ER_OUT_OF_RESOURCES);
    snapshot_unref(snapshot);
    ck_assert_uint_eq(decode_budget_used(), 0);
}

START_TEST(a_snapshot_asks_for_all_it_takes)
{
    struct snapshot *snapshot = fixture_snapshot("before", 400);
    struct buffer file;

    buffer_init(&file, SNAPSHOT_FILE_MAX);
    ck_assert_int_eq(snapshot_encode(snapshot, &file, &err), 0);
    check_ceilings(file.data, file.size, 4096);
    buffer_fini(&file);
    snapshot_unref(snapshot);
}
END_TEST

/* Ten thousand stacks of addresses that no other has. */
START_TEST(a_raw_profile_asks_for_all_it_takes)
{
    enum { STACKS = 10000, DEPTH = 10 };
    struct buffer text;

    buffer_init(&text, SNAPSHOT_FILE_MAX);
    buffer_text(&text, "heap_v2/524288\n");
    for (unsigned i = 0; i < STACKS; i++) {
        buffer_text(&text, "@");
        for (unsigned k = 0; k < DEPTH; k++)
            buffer_format(&text, " 0x%x", 0x400000 + i * DEPTH + k);
        buffer_text(&text, "\n  t*: 1: 100 [0: 0]\n");
    }
    buffer_text(&text, "MAPPED_LIBRARIES:\n400000-8000000 r-xp 0 8:1 7 /a/b\n");
    check_ceilings(text.data, text.size, 1 << 20);
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("decode_budget");
    TCase *tc = tcase_create("decode_budget");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_small_file_does_not_become_a_gigabyte, 0, 2);
    tcase_add_test(tc, the_declared_size_is_asked_for_first);
    tcase_add_test(tc, unknown_free_memory_is_not_none);
    tcase_add_test(tc, a_snapshot_asks_for_all_it_takes);
    tcase_add_test(tc, a_raw_profile_asks_for_all_it_takes);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
