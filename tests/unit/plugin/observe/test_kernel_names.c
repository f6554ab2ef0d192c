/* test_kernel_names.c - frames in the kernel: what /proc/kallsyms calls them,
 * and how a profile shows them. */
#include <stdio.h>

#include "kernel_names.h"
#include "profile_fixture.h"
#include "stack_sums.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BASE         UINT64_C(0xffffffff81000000)

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup\n"
                               "ffffffff81000300 T __x64_sys_read\n"
                               "ffffffff81000100 t do_syscall_64\n"
                               "ffffffff81000400 D data\n"
                               "ffffffffc0000000 t tcp_send\t[inet]\n"
                               "no line\n"
                               "ffffffff81000200 W weak";
static struct error err;

static uint64_t
take_one(struct kernel_names *names, uint64_t frame)
{
    uint64_t out = 0;

    ck_assert_uint_eq(kernel_names_take(names, &frame, 1, &out, 1), 1);
    return out;
}

/* What a profile of one stack of them shows, leaf first. */
static struct profile *
make_profile(struct kernel_names *names, const uint64_t *frames, size_t count)
{
    struct stack_sums *sums = stack_sums_new();
    struct names *none = names_new(1 << 20);
    uint64_t addresses[8];
    struct heap_dump *dump;
    struct profile *profile;
    size_t depth = kernel_names_take(names, frames, count, addresses, 8);

    ck_assert_int_eq(stack_sums_add(sums, addresses, depth, 1, &err), 0);
    dump = stack_sums_dump(sums, PROFILE_CPU, &err);
    profile = profile_new(dump, none, "db", NULL, &err);
    ck_assert_ptr_nonnull(profile);
    ck_assert_int_eq(kernel_names_fill(names, profile), 0);
    heap_dump_free(dump);
    names_free(none);
    stack_sums_free(sums);
    return profile;
}

static const struct location *
frame_of(const struct profile *profile, uint32_t depth)
{
    ck_assert_uint_lt(depth, profile->stacks[0].depth);
    return &profile->locations[profile->stacks[0].locations[depth]];
}

START_TEST(frames_have_the_names_of_their_functions)
{
    /* perf's own word; a leaf that begins here; calls that ended functions. */
    const uint64_t frames[] = {(uint64_t)-128, BASE + 0x300, BASE + 0x200,
                               UINT64_C(0xffffffffc0000010), 0x5555};
    static const char *const wanted[] = {"__x64_sys_read_[k]",
                                         "do_syscall_64_[k]", "tcp_send_[k]"};
    struct kernel_names *names =
        kernel_names_parse(kallsyms, strlen(kallsyms), &err);
    struct profile *profile = make_profile(names, frames, COUNT(frames));

    ck_assert(kernel_names_known(names));
    ck_assert_uint_eq(profile->stacks[0].depth, COUNT(wanted));
    for (uint32_t i = 0; i < COUNT(wanted); i++) {
        const struct location *location = frame_of(profile, i);

        ck_assert_str_eq(location->frames[0].function, wanted[i]);
        ck_assert_str_eq(location->module, "[kernel]");
        ck_assert_uint_le(location->address, INT64_MAX);
    }
    profile_free(profile);
    kernel_names_free(names);
}
END_TEST

START_TEST(a_function_is_one_wherever_the_kernel_lies)
{
    static const char moved[] = "ffffffff92000100 t do_syscall_64\n";
    struct kernel_names *here =
        kernel_names_parse(kallsyms, strlen(kallsyms), &err);
    struct kernel_names *there = kernel_names_parse(moved, strlen(moved), &err);
    uint64_t place = take_one(here, BASE + 0x100);

    ck_assert_uint_eq(take_one(here, BASE + 0x1ff), place);
    ck_assert_uint_eq(take_one(there, UINT64_C(0xffffffff92000180)), place);
    ck_assert_uint_ne(take_one(here, BASE + 0x200), place);
    /* Of two names of one address the first is taken. */
    ck_assert_uint_eq(take_one(here, BASE), take_one(here, BASE + 0xff));
    kernel_names_free(here);
    kernel_names_free(there);
}
END_TEST

START_TEST(what_has_no_name_is_one_frame)
{
    static const char hidden[] = "0000000000000000 T _text\n"
                                 "0000000000000000 t do_syscall_64\n";
    const uint64_t frames[] = {BASE + 0x410, BASE + 1, BASE + 0x410};
    struct kernel_names *names =
        kernel_names_parse(hidden, strlen(hidden), &err);
    struct profile *profile = make_profile(names, frames, COUNT(frames));

    ck_assert(!kernel_names_known(names));
    ck_assert_uint_eq(profile->stacks[0].depth, 1);
    ck_assert_str_eq(frame_of(profile, 0)->frames[0].function, "[kernel]");
    ck_assert_str_eq(frame_of(profile, 0)->module, "[kernel]");
    profile_free(profile);
    kernel_names_free(names);

    /* In data, and before the first one. */
    names = kernel_names_parse(kallsyms, strlen(kallsyms), &err);
    ck_assert_uint_eq(take_one(names, BASE + 0x410), KERNEL_NAMES_FIRST);
    ck_assert_uint_eq(take_one(names, BASE - 1), KERNEL_NAMES_FIRST);
    kernel_names_free(names);
}
END_TEST

START_TEST(no_more_frames_than_there_is_room_for)
{
    const uint64_t frames[] = {BASE, BASE + 0x102, BASE + 0x202};
    struct kernel_names *names =
        kernel_names_parse(kallsyms, strlen(kallsyms), &err);
    uint64_t out[3] = {0};

    ck_assert_uint_eq(kernel_names_take(names, frames, 3, out, 2), 2);
    ck_assert_uint_eq(out[2], 0);
    ck_assert_uint_eq(kernel_names_take(names, frames, 0, out, 2), 0);
    kernel_names_free(names);
}
END_TEST

/* There are more of them than lines, for which there is room. */
START_TEST(a_line_does_not_end_at_a_nul)
{
    enum { LINES = 200, SIZE = sizeof("ffffffff81000000 T f") };
    char text[LINES * SIZE];
    struct kernel_names *names;

    for (unsigned i = 0; i < LINES; i++)
        snprintf(text + (size_t)i * SIZE, SIZE, "ffffffff81%06x T f", i);
    names = kernel_names_parse(text, sizeof(text), &err);
    ck_assert(kernel_names_known(names));
    kernel_names_free(names);

    text[SIZE - 1] = '\n';
    text[SIZE + SIZE - 2] = 'g';
    names = kernel_names_parse(text, sizeof(text), &err);
    ck_assert_uint_ne(take_one(names, BASE), take_one(names, BASE + 1));
    ck_assert_uint_eq(take_one(names, BASE + 1), take_one(names, BASE + 2));
    kernel_names_free(names);
}
END_TEST

START_TEST(this_machine_s_can_be_read)
{
    struct kernel_names *names = kernel_names_load(&err);

    ck_assert_ptr_nonnull(names);
    kernel_names_free(names);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("kernel_names");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, frames_have_the_names_of_their_functions);
    tcase_add_test(tcase, a_function_is_one_wherever_the_kernel_lies);
    tcase_add_test(tcase, what_has_no_name_is_one_frame);
    tcase_add_test(tcase, no_more_frames_than_there_is_room_for);
    tcase_add_test(tcase, a_line_does_not_end_at_a_nul);
    tcase_add_test(tcase, this_machine_s_can_be_read);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
