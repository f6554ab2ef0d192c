/* test_threads.c - the threads of a real process; ptrace is scripted. */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "failing_memory.h"
#include "sample_task.h"
#include "sampler.h"
#include "suite.h"
#include "thread_tracer.h"
#include "threads.h"

enum { IDLE = 5, READERS = 3, BLOCKED = 4, ALL = IDLE + READERS + BLOCKED + 6 };

static pid_t pid;
static int input;
static struct threads_options options;
static struct thread_list *list;
static struct error err;

static void
set_up(void)
{
    int in[2], out[2];
    char word[8] = "";

    ck_assert_int_eq(pipe(in), 0);
    ck_assert_int_eq(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        execl(HW_TEST_BIN "/stuck_threads", "stuck_threads", "5", "3", "4",
              NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input = in[1];
    ck_assert_int_eq(read(out[0], word, sizeof(word) - 1), 6);
    ck_assert_str_eq(word, "ready\n");
    close(out[0]);
    options = (struct threads_options){.pid = pid};
}

static void
tear_down(void)
{
    thread_list_unref(list);
    close(input);
    waitpid(pid, NULL, 0);
}

/* ---- ptrace ---- */

static const char damaged[] = "its stack is damaged"; /* as walk says */
static unsigned copies;
static atomic_bool cancelled;
static unsigned cancels_at;     /* the copy; 0: none */
static unsigned unstopped;      /* copies, of threads that wait */
static bool lacks;              /* those lack a register */
static enum unwind_end lacking; /* how their walk ends */
static pid_t deep;              /* a process with a deep stack; 0: none */
static bool deep_ran;           /* since it was copied, as it seems */

/* As it waits. */
static struct thread_copy
copy_deep(void)
{
    static uint8_t top[SAMPLER_STACK_BYTES];
    struct thread_copy copy = {.registers.missing = 1};
    uint64_t *values = copy.registers.values;
    struct sample_times times;

    ck_assert(sample_task_times(deep, deep, &times));
    ck_assert(sample_task_waits(deep, deep, &values[REGISTER_SP],
                                &values[REGISTER_PC]));
    copy.slices = times.slices - deep_ran;
    copy.stack = (struct thread_stack){values[REGISTER_SP], top, 0};
    copy.stack.size =
        sample_task_memory(deep, copy.stack.start, top, sizeof(top));
    return copy;
}

/* Every third thread may not be stopped, every fourth has ended; the stack
 * pointer tells walk the thread.  Two at most are copied together. */
void
thread_tracer_copy(struct thread_tracer **tracer,
                   const struct thread_wanted *threads, size_t count,
                   struct thread_copies *out)
{
    static struct thread_copy done[2];

    ck_assert_ptr_nonnull(tracer);
    ck_assert_uint_gt(count, 0);
    *out = (struct thread_copies){.list = done};
    while (!out->failed && out->count < count && out->count < 2) {
        const struct thread_wanted *wanted = &threads[out->count];

        if (deep) {
            ck_assert(wanted->pid == deep && wanted->unstopped);
            done[out->count++] = copy_deep();
            continue;
        }
        ck_assert(wanted->state == 'S' || wanted->tid == pid);
        ck_assert_int_eq(wanted->pid, pid);
        if (lacks && wanted->unstopped) {
            unstopped++;
            done[out->count++] = (struct thread_copy){
                .registers = {.values[REGISTER_SP] = (uint64_t)wanted->tid,
                              .missing = 1}};
            continue;
        }
        copies++;
        out->gone = copies % 4 == 0;
        if (copies == cancels_at)
            atomic_store(&cancelled, true);
        out->failed = copies % 4 == 0 || copies % 3 == 0;
        if (out->failed)
            error_set(&out->err, ER_UNKNOWN, "gdb has thread %" PRId32 ", alas",
                      wanted->tid);
        else
            done[out->count++] = (struct thread_copy){
                .pause_us = copies,
                .registers.values[REGISTER_SP] = (uint64_t)wanted->tid};
    }
}

static uint32_t
walk(void *arg, const struct thread_copy *copy, uint64_t *addresses,
     uint32_t room, enum unwind_end *end)
{
    ck_assert_ptr_eq(arg, &options);
    ck_assert_uint_eq(room, THREAD_DEPTH_MAX);
    addresses[0] = copy->registers.values[REGISTER_SP];
    addresses[1] = 7;
    *end = copy->registers.missing ? lacking : UNWIND_END_LOOP;
    if (deep)
        *end = copy->stack.size > SAMPLER_STACK_BYTES ? UNWIND_END_OUTERMOST
                                                      : UNWIND_END_STACK;
    return 2;
}

/* ---- tests ---- */

static const struct thread_entry *
named(const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->list[i].name, name) == 0)
            return &list->list[i];
    ck_abort_msg("no thread is called %s", name);
}

static size_t
count_named(const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        count += strcmp(list->list[i].name, name) == 0;
    return count;
}

START_TEST(all_threads_are_listed_by_tid)
{
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_uint_eq(list->count, ALL);
    ck_assert_uint_eq(list->left_out, 0);
    ck_assert_int_eq(list->pid, pid);
    ck_assert_ptr_nonnull(thread_list_find(list, pid));
    ck_assert_str_eq(thread_list_find(list, pid)->name, "stuck_threads");
    ck_assert_uint_eq(count_named("idle"), IDLE);
    ck_assert_uint_eq(count_named("reader"), READERS);
    ck_assert_uint_eq(count_named("blocked"), BLOCKED);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            ck_assert_int_lt(list->list[i - 1].tid, list->list[i].tid);
        if (list->list[i].tid != pid) /* main has just said so */
            ck_assert_int_eq(list->list[i].state, 'S');
        ck_assert_uint_eq(list->list[i].depth, 0);
        ck_assert_int_eq(list->list[i].pid, pid);
        ck_assert_ptr_null(list->list[i].process);
        ck_assert_str_eq(list->list[i].why, "");
        ck_assert_ptr_eq(thread_list_find(list, list->list[i].tid),
                         &list->list[i]);
    }
    ck_assert_ptr_null(thread_list_find(list, 1));
    ck_assert_uint_eq(copies, 0);
}
END_TEST

START_TEST(who_waits_for_a_mutex_names_its_owner)
{
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_uint_ne(named("blocked")->futex, 0);
    ck_assert(!named("blocked")->timed);
    ck_assert_int_eq(named("left")->owner, named("right")->tid);
    ck_assert_int_eq(named("right")->owner, named("left")->tid);
    ck_assert_int_eq(named("timed")->owner, named("left")->tid);
    ck_assert(named("timed")->timed);
    ck_assert_int_eq(named("robust")->owner, pid);
    ck_assert(!named("robust")->owner_ended);
    /* a condition has no owner, a pipe is no futex */
    ck_assert_uint_ne(named("idle")->futex, 0);
    ck_assert_uint_eq(named("reader")->futex, 0);
    for (size_t i = 0; i < list->count; i++) {
        const struct thread_entry *entry = &list->list[i];

        if (strcmp(entry->name, "blocked") == 0)
            ck_assert_int_eq(entry->owner, pid);
        if (strcmp(entry->name, "idle") == 0)
            ck_assert_int_eq(entry->owner, 0);
    }
}
END_TEST

START_TEST(an_owner_that_has_ended_is_told)
{
    const struct thread_entry *orphan;

    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    orphan = named("orphan");
    ck_assert_int_ne(orphan->owner, 0);
    ck_assert_int_ne(orphan->owner, pid);
    ck_assert_ptr_null(thread_list_find(list, orphan->owner));
    for (size_t i = 0; i < list->count; i++)
        ck_assert_int_eq(list->list[i].owner_ended, &list->list[i] == orphan);
}
END_TEST

START_TEST(a_circle_of_owners_is_a_deadlock)
{
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_uint_eq(list->deadlocks, 1);
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->list[i].name;

        ck_assert_uint_eq(list->list[i].deadlock,
                          strcmp(name, "left") == 0 ||
                              strcmp(name, "right") == 0);
    }
}
END_TEST

START_TEST(a_thread_that_is_not_stopped_keeps_its_place)
{
    uint64_t stops = 0, total = 0;

    options.stacks = true;
    options.walk = walk;
    options.arg = &options;
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_uint_eq(list->count, ALL);
    ck_assert_uint_eq(copies, ALL);
    for (unsigned i = 0; i < ALL; i++) {
        const struct thread_entry *entry = &list->list[i];
        unsigned n = i + 1;

        if (n % 4 == 0 || n % 3 == 0) {
            ck_assert_uint_eq(entry->depth, 0);
            ck_assert_str_eq(entry->why, n % 4 == 0
                                             ? "it has ended"
                                             : "gdb has the thread, alas");
            continue;
        }
        ck_assert_uint_eq(entry->depth, 2);
        ck_assert_uint_eq(entry->addresses[0], (uint64_t)entry->tid);
        ck_assert_uint_eq(entry->addresses[1], 7);
        ck_assert_uint_eq(entry->pause_us, n);
        ck_assert_str_eq(entry->why, damaged);
        stops++;
        total += n;
    }
    ck_assert_uint_eq(list->stops, stops);
    ck_assert_uint_eq(list->pause_total_us, total);
    ck_assert_uint_eq(list->pause_max_us, 17);
}
END_TEST

START_TEST(a_thread_that_waits_is_stopped_if_it_must)
{
    static const enum unwind_end ends[] = {UNWIND_END_OUTERMOST,
                                           UNWIND_END_RULE, UNWIND_END_DEPTH};

    options.stacks = true;
    options.walk = walk;
    options.arg = &options;
    lacks = true;
    lacking = ends[_i];
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_uint_ge(unstopped, ALL - 1); /* the first one may run */
    if (lacking == UNWIND_END_RULE)
        ck_assert_uint_eq(copies, ALL);
    else
        ck_assert_uint_eq(copies, ALL - unstopped);
    for (unsigned i = 0; i < ALL; i++) {
        const struct thread_entry *entry = &list->list[i];

        if (entry->tid == pid)
            continue;
        ck_assert_uint_eq(entry->depth, 2);
        if (lacking == UNWIND_END_RULE) {
            ck_assert_str_ne(entry->why, unwind_end_text(lacking));
            ck_assert_int_eq(entry->pause_us > 0,
                             strcmp(entry->why, damaged) == 0);
        } else {
            ck_assert_str_eq(entry->why, unwind_end_text(lacking));
            ck_assert_uint_eq(entry->pause_us, 0);
        }
    }
    ck_assert_uint_le(list->stops, copies);
}
END_TEST

static void
wait_deep(int there)
{
    volatile char room[3 * SAMPLER_STACK_BYTES];

    room[0] = room[sizeof(room) - 1] = 1;
    if (write(there, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

START_TEST(a_deep_stack_is_read_on_while_it_waits)
{
    uint64_t sp, pc;
    char byte;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    deep = fork();
    if (deep == 0)
        wait_deep(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    while (!sample_task_waits(deep, deep, &sp, &pc))
        sched_yield();
    deep_ran = _i == 1;
    options = (struct threads_options){
        .pid = deep, .stacks = true, .walk = walk, .arg = &options};
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_ptr_nonnull(thread_list_find(list, deep));
    ck_assert_str_eq(thread_list_find(list, deep)->why,
                     deep_ran ? unwind_end_text(UNWIND_END_STACK) : "");
    kill(deep, SIGKILL);
    waitpid(deep, NULL, 0);
}
END_TEST

START_TEST(past_the_deadline_no_thread_is_stopped)
{
    options.stacks = true;
    options.walk = walk;
    options.deadline_ms = clock_ms();
    ck_assert_int_eq(threads_take(&options, &list, &err), 0);
    ck_assert_uint_eq(copies, 0);
    ck_assert_uint_eq(list->count, ALL);
    ck_assert_str_eq(list->list[3].why, "there was no time left for it");
}
END_TEST

START_TEST(it_ends_where_it_is_cancelled)
{
    options.stacks = true;
    options.walk = walk;
    options.arg = &options;
    options.cancelled = &cancelled;
    cancels_at = 5;
    ck_assert_int_eq(threads_take(&options, &list, &err), -1);
    ck_assert_uint_eq(err.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_eq(copies, 6); /* two are copied together */
    ck_assert_ptr_null(list);
}
END_TEST

START_TEST(a_process_that_is_not_there_is_an_error)
{
    options.pid = INT32_MAX;
    ck_assert_int_eq(threads_take(&options, &list, &err), -1);
    ck_assert_str_eq(err.text, "there is no process 2147483647");
}
END_TEST

START_TEST(no_memory_is_an_error)
{
    options.stacks = true;
    options.walk = walk;
    options.arg = &options;
    for (failing = 1; failing < 100; failing++) {
        allocations = 0;
        copies = 0;
        if (threads_take(&options, &list, &err) == 0)
            break;
        ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    }
    ck_assert_uint_gt(failing, 3);
    ck_assert_uint_lt(failing, 100);
    failing = 0;
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("threads");
    TCase *tcase = tcase_create("all");

    signal(SIGPIPE, SIG_IGN);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, all_threads_are_listed_by_tid);
    tcase_add_test(tcase, who_waits_for_a_mutex_names_its_owner);
    tcase_add_test(tcase, an_owner_that_has_ended_is_told);
    tcase_add_test(tcase, a_circle_of_owners_is_a_deadlock);
    tcase_add_test(tcase, a_thread_that_is_not_stopped_keeps_its_place);
    tcase_add_loop_test(tcase, a_thread_that_waits_is_stopped_if_it_must, 0, 3);
    tcase_add_loop_test(tcase, a_deep_stack_is_read_on_while_it_waits, 0, 2);
    tcase_add_test(tcase, past_the_deadline_no_thread_is_stopped);
    tcase_add_test(tcase, it_ends_where_it_is_cancelled);
    tcase_add_test(tcase, a_process_that_is_not_there_is_an_error);
    tcase_add_test(tcase, no_memory_is_an_error);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
