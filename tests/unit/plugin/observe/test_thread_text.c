/* test_thread_text.c - threads in groups, and as text. */
#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "failing_memory.h"
#include "names.h"
#include "suite.h"
#include "thread_text.h"
#include "threads.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t work[] = {0x1000, 0x2000, 0x3000};
static const uint64_t idle[] = {0x1000, 0x3000};
static const uint64_t unnamed[] = {0x9999, 0x3000};

static struct thread_entry entries[] = {
    {.tid = 10,
     .name = "main",
     .state = 'S',
     .wchan = "do_poll",
     .why = "",
     .addresses = unnamed,
     .depth = 2},
    {.tid = 11,
     .name = "w",
     .state = 'S',
     .wchan = "futex_wait",
     .why = "",
     .addresses = work,
     .depth = 3,
     .futex = 0x55d0,
     .owner = 13,
     .deadlock = 1},
    {.tid = 12,
     .name = "w",
     .state = 'R',
     .wchan = "",
     .why = "",
     .addresses = work,
     .depth = 3},
    {.tid = 13,
     .name = "idle",
     .state = 'S',
     .wchan = "futex_wait",
     .why = "nothing says how to go on",
     .addresses = idle,
     .depth = 2,
     .futex = 0x5610,
     .owner = 11,
     .deadlock = 1},
    {.tid = 14,
     .name = "gone",
     .state = 'Z',
     .wchan = "",
     .why = "it has ended"},
    {.tid = 15,
     .name = "w",
     .state = 'S',
     .wchan = "futex_wait",
     .why = "",
     .addresses = work,
     .depth = 3,
     .futex = 0x55d0,
     .owner = 13},
};

static struct thread_list list = {.list = entries,
                                  .count = COUNT(entries),
                                  .deadlocks = 1,
                                  .stops = 5,
                                  .pause_total_us = 100,
                                  .pause_max_us = 40,
                                  .pid = 10,
                                  .references = 1};
static const struct frame other = {"another", "", 0};
static struct buffer out;
static struct error err;

static void
set_up(void)
{
    static const struct frame lock = {"pthread_mutex_lock", "", 0};
    static const struct frame job[] = {{"take(int)", "queue.c", 12},
                                       {"work;loop", "queue.c", 40}};
    static const struct frame start = {"start\nhere", "", 0};

    list.names = names_new(1 << 20);
    ck_assert_int_eq(names_add(list.names, 0x1000, &lock, 1, false), 0);
    ck_assert_int_eq(names_set_module(list.names, 0x1000, "libc.so.6", 0x100),
                     0);
    ck_assert_int_eq(names_add(list.names, 0x2000, job, 2, false), 0);
    ck_assert_int_eq(names_add(list.names, 0x3000, &start, 1, false), 0);
    buffer_init(&out, 1 << 20);
}

static void
tear_down(void)
{
    buffer_fini(&out);
    names_free(list.names);
}

#define LOCK "#0  0x0000000000001000 pthread_mutex_lock  from libc.so.6\n"
#define WORK                                                                   \
    LOCK "#1  (inlined)          take(int)  queue.c:12\n"                      \
         "#2  0x0000000000002000 work;loop  queue.c:40\n"                      \
         "#3  0x0000000000003000 start?here\n"
#define WORKERS                                                                \
    "3 tids: 11:w, 12:w, 15:w\n"                                               \
    "state: 2 S futex_wait, 1 R\n"                                             \
    "waits: 2 for the mutex 0x55d0 of 13 (idle)\n" WORK "\n"
#define IDLE                                                                   \
    "tid: 13:idle\n"                                                           \
    "state: S futex_wait\n"                                                    \
    "waits: for the mutex 0x5610 of 11 (w)\n" LOCK                             \
    "#1  0x0000000000003000 start?here\n"                                      \
    "the stack goes on: nothing says how to go on\n\n"
#define TOTAL                                                                  \
    "6 threads, 3 different stacks, 5 were stopped for 20 us each, 40 us at "  \
    "most\n"
#define DEADLOCK                                                               \
    "deadlock 1: 11 (w) waits for the mutex 0x55d0 of 13 (idle)\n"             \
    "deadlock 1: 13 (idle) waits for the mutex 0x5610 of 11 (w)\n\n"

START_TEST(deadlocks_come_first_then_the_largest_group)
{
    ck_assert_int_eq(thread_text_write(&list, NULL, &out, &err), 0);
    ck_assert_str_eq(
        out.data, DEADLOCK WORKERS
        "tid: 10:main\nstate: S do_poll\n"
        "#0  0x0000000000009999 ??\n"
        "#1  0x0000000000003000 start?here\n\n" IDLE
        "tid: 14:gone\nstate: Z\nno stack: it has ended\n\n" TOTAL);
}
END_TEST

START_TEST(one_thread_has_its_own_lines)
{
    const struct thread_text_options options = {.tid = 13};

    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), 0);
    ck_assert_str_eq(out.data, IDLE);
}
END_TEST

START_TEST(a_thread_that_is_not_there_is_an_error)
{
    const struct thread_text_options options = {.tid = 99};

    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), -1);
    ck_assert_uint_eq(err.code, ER_NO_SUCH_THREAD);
    ck_assert_str_eq(err.text, "the database has no thread 99");
}
END_TEST

#define OF_ALL ", 5 were stopped for 20 us each, 40 us at most\n"

START_TEST(a_functions_name_chooses_stacks_and_their_deadlocks)
{
    struct thread_text_options options = {.function = {"ake(", 4}};

    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), 0);
    ck_assert_str_eq(out.data,
                     DEADLOCK WORKERS "3 of 6 threads, 1 stack" OF_ALL);
    buffer_clear(&out);
    options.function = (struct span){"other", 5};
    entries[0].depth = 1;
    ck_assert_int_eq(names_add(list.names, 0x9999, &other, 1, false), 0);
    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), 0);
    ck_assert_str_eq(out.data, "tid: 10:main\nstate: S do_poll\n"
                               "#0  0x0000000000009999 another\n\n"
                               "1 of 6 threads, 1 stack" OF_ALL);
    entries[0].depth = 2;
    buffer_clear(&out);
    options.function = (struct span){"none", 4};
    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), 0);
    ck_assert_str_eq(out.data, "no stack has such a function\n\n"
                               "0 of 6 threads, no stack" OF_ALL);
}
END_TEST

START_TEST(a_forked_process_is_called_as_ps_does)
{
    const struct thread_text_options options = {.function = {"start", 5}};

    entries[0].pid = entries[0].tid;
    entries[0].process = "db: writes";
    entries[3].pid = 10;
    entries[3].process = "db: reads";
    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(out.data, "tid: 10:main (db: writes)\n"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "tid: 13:idle (of 10, db: reads)\n"));
    entries[0].process = entries[3].process = NULL;
}
END_TEST

START_TEST(what_threads_wait_for_is_told_by_its_address)
{
    struct thread_entry *three[] = {&entries[1], &entries[2], &entries[5]};
    const struct thread_text_options options = {.function = {"ake(", 4}};
    const struct thread_entry before[] = {*three[0], *three[1], *three[2]};

    for (int i = 0; i < 3; i++) {
        three[i]->owner = 0;
        three[i]->deadlock = 0;
        three[i]->futex = i < 2 ? 0x7000 : 0x8000;
    }
    three[2]->owner = 99;
    three[2]->owner_ended = true;
    ck_assert_int_eq(thread_text_write(&list, &options, &out, &err), 0);
    ck_assert_ptr_nonnull(
        strstr(out.data, "\nwaits: 2 for the futex 0x7000, 1 for the mutex "
                         "0x8000 of 99, which has ended: nobody will unlock "
                         "it\n#0 "));
    for (int i = 0; i < 3; i++)
        *three[i] = before[i];
}
END_TEST

START_TEST(a_folded_stack_has_the_root_first)
{
    thread_folded_write(&list, &entries[1], &out);
    ck_assert_str_eq(out.data,
                     "start?here;work:loop;take (inline);pthread_mutex_lock");
    buffer_clear(&out);
    thread_folded_write(&list, &entries[0], &out);
    ck_assert_str_eq(out.data, "start?here;0x9999");
    buffer_clear(&out);
    thread_folded_write(&list, &entries[4], &out);
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

START_TEST(without_names_addresses_are_shown)
{
    struct thread_list plain = list;

    plain.names = NULL;
    thread_stack_write(&plain, &entries[3], &out);
    ck_assert_str_eq(out.data, "#0  0x0000000000001000 ??\n"
                               "#1  0x0000000000003000 ??\n");
}
END_TEST

START_TEST(each_thread_knows_how_many_have_its_stack)
{
    static const size_t want[] = {1, 3, 3, 1, 1, 3};
    const struct thread_group *of[COUNT(entries)];
    struct thread_groups groups;

    ck_assert_int_eq(thread_groups_init(&groups, &list), 0);
    ck_assert_uint_eq(groups.count, 4);
    thread_groups_each(&groups, &list, of);
    for (size_t i = 0; i < COUNT(want); i++)
        ck_assert_uint_eq(of[i]->count, want[i]);
    thread_groups_fini(&groups);
}
END_TEST

START_TEST(a_ceiling_or_no_memory_is_an_error)
{
    struct buffer small;

    buffer_init(&small, 100);
    ck_assert_int_eq(thread_text_write(&list, NULL, &small, &err), -1);
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    buffer_fini(&small);
    for (failing = 1; failing < 100; failing++) {
        allocations = 0;
        buffer_fini(&out);
        buffer_init(&out, 1 << 20);
        if (thread_text_write(&list, NULL, &out, &err) == 0)
            break;
        ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    }
    ck_assert_uint_gt(failing, 2);
    ck_assert_uint_lt(failing, 100);
    failing = 0;
}
END_TEST

START_TEST(what_of_children_is_missing_is_said)
{
    struct thread_list with = list;

    with.process_count = 3;
    with.closed = 4;
    with.beyond = 5;
    with.clashes = 6;
    with.unjoined = 7;
    ck_assert_int_eq(thread_text_write(&with, NULL, &out, &err), 0);
    buffer_char(&out, '\0');
    ck_assert_ptr_nonnull(strstr(
        out.data,
        "of the database and 2 child processes: 6 threads, 3 different "
        "stacks, 5 were stopped for 20 us each, 40 us at most; 4 child "
        "processes may not be looked at; 5 child processes are not in it: "
        "there is room for 1023; 6 libraries of children lie where other "
        "processes have "
        "other code: names in them may be wrong; libraries that 7 children "
        "loaded themselves have no names\n"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("thread_text");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, deadlocks_come_first_then_the_largest_group);
    tcase_add_test(tcase, one_thread_has_its_own_lines);
    tcase_add_test(tcase, a_thread_that_is_not_there_is_an_error);
    tcase_add_test(tcase, a_functions_name_chooses_stacks_and_their_deadlocks);
    tcase_add_test(tcase, a_forked_process_is_called_as_ps_does);
    tcase_add_test(tcase, what_threads_wait_for_is_told_by_its_address);
    tcase_add_test(tcase, a_folded_stack_has_the_root_first);
    tcase_add_test(tcase, without_names_addresses_are_shown);
    tcase_add_test(tcase, each_thread_knows_how_many_have_its_stack);
    tcase_add_test(tcase, a_ceiling_or_no_memory_is_an_error);
    tcase_add_test(tcase, what_of_children_is_missing_is_said);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
