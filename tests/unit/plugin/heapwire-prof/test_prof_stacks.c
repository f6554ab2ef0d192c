/* test_prof_stacks.c - stacks that a thread takes are those that are taken
 * without one, of a dump read in halves or as one. */
#include "failing_memory.h"
#include "heap_dump.h"
#include "large_dump.h"
#include "names.h"
#include "prof_halves.h"
#include "prof_stacks.h"
#include "profile.h"
#include "suite.h"

static struct heap_dump *
read_dump(bool sorted, bool halves)
{
    struct error err = {0};
    struct heap_dump *dump;
    struct buffer text;
    int fd;

    large_dump(&text, sorted);
    fd = large_file(&text, text.size);
    dump = halves ? prof_halves_dump(fd)
                  : heap_dump_parse(text.data, text.size, &err);
    ck_assert_ptr_nonnull(dump);
    close(fd);
    buffer_fini(&text);
    threads_started = 0;
    return dump;
}

/* As heapwire-prof does.  NULL: there was no memory. */
static struct profile *
make_profile(struct heap_dump *dump, struct names *names, bool apart)
{
    struct error err = {0};
    struct prof_stacks stacks;
    struct profile *profile;

    if (!apart) {
        profile = profile_new(dump, names, "/bin/db", NULL, &err);
    } else {
        prof_stacks_init(&stacks, dump);
        profile = profile_finish(prof_stacks_take(&stacks), dump, names,
                                 "/bin/db", NULL, &err);
        prof_stacks_fini(&stacks);
    }
    ck_assert_int_eq(err.code, profile ? 0 : ER_OUT_OF_MEMORY);
    return profile;
}

static void
check_same_stack(const struct profile_stack *a, const struct profile_stack *b)
{
    ck_assert_uint_eq(a->depth, b->depth);
    ck_assert_mem_eq(a->locations, b->locations,
                     a->depth * sizeof(*a->locations));
    ck_assert_double_eq(a->bytes, b->bytes);
    ck_assert_double_eq(a->objects, b->objects);
    ck_assert_double_eq(a->variance, b->variance);
    ck_assert_uint_eq(a->in_use.bytes, b->in_use.bytes);
    ck_assert_uint_eq(a->in_use.objects, b->in_use.objects);
}

static void
check_same(const struct profile *a, const struct profile *b)
{
    ck_assert_uint_eq(a->stack_count, b->stack_count);
    for (size_t i = 0; i < a->stack_count; i++)
        check_same_stack(&a->stacks[i], &b->stacks[i]);
    ck_assert_double_eq(a->bytes, b->bytes);
    ck_assert_double_eq(a->objects, b->objects);
    ck_assert_uint_eq(a->samples, b->samples);
    ck_assert_uint_eq(a->rate, b->rate);
    ck_assert_uint_eq(a->location_count, b->location_count);
    for (size_t i = 0; i < a->location_count; i++)
        ck_assert_uint_eq(a->locations[i].address, b->locations[i].address);
}

/* Against what the text was made of: each stack where it came first, with all
 * that its kind has. */
static void
check_is_the_texts(const struct profile *profile, bool sorted)
{
    static uint32_t place[LARGE_STACKS]; /* 1 + its stack's */
    static uint64_t bytes[LARGE_STACKS];
    uint32_t distinct = 0;

    memset(place, 0, sizeof(place));
    memset(bytes, 0, sizeof(bytes));
    for (uint32_t i = 0; i < LARGE_STACKS; i++) {
        uint32_t pick = large_pick(i, sorted);

        if (!place[pick])
            place[pick] = ++distinct;
        bytes[place[pick] - 1] += large_bytes(i);
    }
    ck_assert_uint_eq(profile->stack_count, distinct);
    for (uint32_t pick = 0; pick < LARGE_STACKS; pick++) {
        const struct profile_stack *stack;

        if (!place[pick])
            continue;
        stack = &profile->stacks[place[pick] - 1];
        ck_assert_uint_eq(stack->depth, LARGE_DEPTH + pick % 9);
        ck_assert_uint_eq(stack->in_use.bytes, bytes[place[pick] - 1]);
        ck_assert_uint_eq(profile->locations[stack->locations[0]].address,
                          0x5500000 | (pick & 255) << 8 | pick >> 8);
        for (uint32_t k = 1; k < stack->depth; k++)
            ck_assert_uint_eq(profile->locations[stack->locations[k]].address,
                              0x400000 + pick * k % 5003 - 1);
    }
}

/* Bits of the loop's number: sorted, read in halves. */
START_TEST(a_thread_takes_them_as_they_are)
{
    const bool sorted = _i & 1, halves = _i & 2;
    struct names *names = names_new(1 << 20);
    struct heap_dump *dump = read_dump(sorted, false);
    struct profile *plain = make_profile(dump, names, false), *profile;

    ck_assert_uint_eq(threads_started, 0);
    ck_assert_ptr_nonnull(plain);
    check_is_the_texts(plain, sorted);
    heap_dump_free(dump);

    dump = read_dump(sorted, halves);
    profile = make_profile(dump, names, true);
    heap_dump_free(dump);
    ck_assert_ptr_nonnull(profile);
    ck_assert_uint_eq(threads_started, 1);
    ck_assert_str_eq(thread_name, "hw-stacks");
    check_is_the_texts(profile, sorted);
    check_same(profile, plain);
    profile_free(profile);
    profile_free(plain);
    names_free(names);
}
END_TEST

START_TEST(without_a_thread_they_are_the_same)
{
    struct names *names = names_new(1 << 20);
    struct heap_dump *dump = read_dump(false, true);
    struct profile *profile;

    cores = _i ? 1 : 2;
    threads_max = _i ? UINT32_MAX : 0;
    thread_name = NULL;
    profile = make_profile(dump, names, true);
    ck_assert_int_eq(thread_name != NULL, !_i);
    ck_assert_uint_eq(threads_started, 0);
    ck_assert_ptr_nonnull(profile);
    check_is_the_texts(profile, false);
    heap_dump_free(dump);
    profile_free(profile);
    names_free(names);
}
END_TEST

START_TEST(few_start_no_thread)
{
    static const char text[] = "heap_v2/1\n@ 0x9 0x5\n  t*: 1: 1 [0: 0]\n"
                               "\nMAPPED_LIBRARIES:\n";
    struct names *names = names_new(1 << 20);
    struct error err = {0};
    struct heap_dump *dump = heap_dump_parse(text, sizeof(text) - 1, &err);
    struct profile *profile = make_profile(dump, names, true);

    ck_assert_ptr_nonnull(profile);
    ck_assert_uint_eq(profile->stack_count, 1);
    ck_assert_ptr_null(thread_name);
    profile_free(profile);
    heap_dump_free(dump);
    names_free(names);
}
END_TEST

/* As when names fail. */
START_TEST(they_may_stay_untaken)
{
    struct heap_dump *dump = read_dump(_i, true);
    struct prof_stacks stacks;

    prof_stacks_init(&stacks, dump);
    ck_assert_uint_eq(threads_started, 1);
    prof_stacks_fini(&stacks);
    heap_dump_free(dump);
}
END_TEST

START_TEST(without_memory_there_are_none)
{
    struct names *names = names_new(1 << 20);
    struct profile *profile = NULL;
    struct heap_dump *dump;

    for (unsigned n = 1; !profile; n += 1 + n / 20) {
        dump = read_dump(false, n % 2);
        allocations = 0;
        failing = n;
        profile = make_profile(dump, names, true);
        failing = 0;
        ck_assert_int_eq(profile != NULL, allocations < n);
        ck_assert_uint_eq(threads_started, 1);
        heap_dump_free(dump);
    }
    profile_free(profile);
    names_free(names);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("prof_stacks");
    TCase *tc = tcase_create("prof_stacks");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, large_setup, NULL);
    tcase_add_loop_test(tc, a_thread_takes_them_as_they_are, 0, 4);
    tcase_add_loop_test(tc, without_a_thread_they_are_the_same, 0, 2);
    tcase_add_test(tc, few_start_no_thread);
    tcase_add_loop_test(tc, they_may_stay_untaken, 0, 2);
    tcase_add_test(tc, without_memory_there_are_none);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
