/* test_prof_halves.c - large raw profiles are read by two threads, and what
 * they read is what one reads. */
#include <fcntl.h>

#include "dump_fixture.h"
#include "failing_memory.h"
#include "heap_dump.h"
#include "large_dump.h"
#include "prof_halves.h"
#include "suite.h"

static void
check_equal(struct heap_dump *a, struct heap_dump *b)
{
    ck_assert_uint_eq(a->rate, b->rate);
    ck_assert_int_eq(a->sorted, b->sorted);
    ck_assert_int_eq(a->truncated, b->truncated);
    ck_assert_uint_eq(a->maps.count, b->maps.count);
    ck_assert_uint_eq(a->stack_count, b->stack_count);
    ck_assert_uint_eq(a->address_count, b->address_count);
    ck_assert_mem_eq(a->addresses, b->addresses,
                     a->address_count * sizeof(*a->addresses));
    for (size_t i = 0; i < a->stack_count; i++) {
        const struct heap_stack *x = fixture_stack(a, i);
        const struct heap_stack *y = fixture_stack(b, i);

        ck_assert_uint_eq(x->bytes, y->bytes);
        ck_assert_uint_eq(x->objects, y->objects);
        ck_assert_uint_eq(x->depth, y->depth);
        ck_assert_mem_eq(x->addresses, y->addresses,
                         x->depth * sizeof(*x->addresses));
    }
}

START_TEST(a_large_file_is_read_by_two_threads)
{
    struct error err = {0};
    struct heap_dump *whole, *halves;
    struct buffer text;
    int fd;

    large_dump(&text, _i);
    fd = large_file(&text, text.size);
    halves = prof_halves_dump(fd);
    ck_assert_ptr_nonnull(halves);
    ck_assert_uint_eq(threads_started, 1);
    ck_assert_str_eq(thread_name, "hw-half");
    ck_assert_ptr_nonnull(halves->parts[0].first);
    ck_assert_ptr_nonnull(halves->parts[1].first);

    whole = heap_dump_parse(text.data, text.size, &err);
    ck_assert_ptr_nonnull(whole);
    ck_assert_ptr_null(whole->parts[1].first);
    ck_assert_int_eq(whole->sorted, _i);
    check_equal(halves, whole);
    heap_dump_free(whole);
    heap_dump_free(halves);
    close(fd);
    buffer_fini(&text);
}
END_TEST

START_TEST(a_small_file_or_a_pipe_is_not)
{
    struct buffer text;
    int fd, ends[2];

    large_dump(&text, true);
    fd = large_file(&text, (1 << 20) - 1);
    ck_assert_ptr_null(prof_halves_dump(fd));
    close(fd);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_ptr_null(prof_halves_dump(ends[0]));
    close(ends[0]);
    close(ends[1]);
    fd = open("/", O_RDONLY | O_CLOEXEC);
    ck_assert_ptr_null(prof_halves_dump(fd));
    close(fd);
    ck_assert_uint_eq(threads_started, 0);
    buffer_fini(&text);
}
END_TEST

START_TEST(one_core_or_no_thread_reads_it_as_one)
{
    struct buffer text;
    int fd;

    large_dump(&text, true);
    fd = large_file(&text, text.size);
    cores = 1;
    ck_assert_ptr_null(prof_halves_dump(fd));
    ck_assert_ptr_null(thread_name);
    cores = 2;
    threads_max = 0;
    ck_assert_ptr_null(prof_halves_dump(fd));
    ck_assert_str_eq(thread_name, "hw-half");
    close(fd);
    buffer_fini(&text);
}
END_TEST

/* Where the fault is, and its line, are told by who reads it as one. */
START_TEST(what_is_wrong_in_either_half_is_read_as_one)
{
    struct buffer text;
    char *place;
    int fd;

    large_dump(&text, true);
    place = text.data + text.size / 4 * (_i ? 3 : 1);
    place = memchr(place, '@', (size_t)(text.data + text.size - place));
    place[2] = 'z'; /* no address */
    fd = large_file(&text, text.size);
    ck_assert_ptr_null(prof_halves_dump(fd));
    ck_assert_uint_eq(threads_started, 1);
    close(fd);
    buffer_fini(&text);
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    struct heap_dump *dump = NULL;
    struct buffer text;
    int fd;

    large_dump(&text, false);
    fd = large_file(&text, text.size);
    for (unsigned n = 1; !dump; n += 1 + n / 20) {
        allocations = 0;
        failing = n;
        dump = prof_halves_dump(fd);
        failing = 0;
        ck_assert_int_eq(dump != NULL, allocations < n);
    }
    heap_dump_free(dump);
    close(fd);
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("prof_halves");
    TCase *tc = tcase_create("prof_halves");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, large_setup, NULL);
    tcase_add_loop_test(tc, a_large_file_is_read_by_two_threads, 0, 2);
    tcase_add_test(tc, a_small_file_or_a_pipe_is_not);
    tcase_add_test(tc, one_core_or_no_thread_reads_it_as_one);
    tcase_add_loop_test(tc, what_is_wrong_in_either_half_is_read_as_one, 0, 2);
    tcase_add_test(tc, without_memory_there_is_none);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
