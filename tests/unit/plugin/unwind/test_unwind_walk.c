/* test_unwind_walk.c - the callers of this process's own functions. */
#include "unwind_walk.h"

#include <alloca.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "own_tables.h"
#include "suite.h"

enum { DEPTH_MAX = 128 };

static struct own_tables own;
static size_t copied = SIZE_MAX; /* of the stack, at most */

/* What the walk and libgcc's unwinder say of the same moment. */
static struct {
    uint64_t walked[DEPTH_MAX];
    void *theirs[DEPTH_MAX];
    size_t count, their_count;
    enum unwind_end why;
} seen;

__attribute__((noinline)) static void
look(void)
{
    struct unwind_source source = own_source(&own);
    struct thread_registers registers;
    struct thread_stack stack;
    ucontext_t context;

    ck_assert_int_eq(getcontext(&context), 0);
    registers = own_registers(&context);
    stack = own_stack(registers.values[REGISTER_SP]);
    stack.size = stack.size < copied ? stack.size : copied;
    seen.count = unwind_walk(&source, &stack, &registers, seen.walked,
                             DEPTH_MAX, &seen.why);
    seen.their_count = (size_t)backtrace(seen.theirs, DEPTH_MAX);
    /* A sanitizer's backtrace() adds itself. */
    if (seen.count > 1 && (uint64_t)seen.theirs[1] != seen.walked[1] + 1)
        memmove(seen.theirs, seen.theirs + 1,
                --seen.their_count * sizeof(seen.theirs[0]));
}

/* All but the leaf, whose two calls differ; exact: the frame that a signal
 * interrupted, or 0; it and the trampoline below are no calls. */
static void
check_seen(size_t exact)
{
    ck_assert_int_eq(seen.why, UNWIND_END_OUTERMOST);
    ck_assert_uint_ge(seen.count, 4);
    ck_assert_uint_eq(seen.count, seen.their_count);
    for (size_t i = 1; i < seen.count; i++)
        ck_assert_msg(seen.walked[i] + (i != exact && i + 1 != exact) ==
                          (uint64_t)(uintptr_t)seen.theirs[i],
                      "frame %zu: %#llx, not %p", i,
                      (unsigned long long)seen.walked[i], seen.theirs[i]);
}

__attribute__((noinline)) static int
deep(int depth)
{
    int below;

    if (depth == 0) {
        look();
        return 1;
    }
    below = deep(depth - 1);
    __asm__ volatile("" : "+r"(below)); /* no tail call */
    return below + 1;
}

START_TEST(the_stack_is_as_backtrace_gives_it)
{
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        deep(20);
        check_seen(0);
        ck_assert_uint_ge(seen.count, 22);
    }
}
END_TEST

/* An aligned local, and one of unknown size: the CFA is a dereference. */
__attribute__((noinline)) static int
realigned(size_t size)
{
    volatile char line[64] __attribute__((aligned(64)));
    volatile char *more = alloca(size);
    int below;

    line[0] = more[0] = 1;
    below = deep(2);
    return below + line[0] + more[0];
}

START_TEST(a_realigned_stack_is_followed)
{
    realigned(100);
    check_seen(0);
}
END_TEST

static int
compare(const void *a, const void *b)
{
    if (seen.count == 0)
        look();
    return *(const int *)a - *(const int *)b;
}

START_TEST(a_library_is_passed_through)
{
    int list[3] = {3, 1, 2};

    seen.count = 0;
    qsort(list, 3, sizeof(list[0]), compare);
    check_seen(0);
}
END_TEST

static void
on_signal(int number)
{
    (void)number;
    look();
}

/* Which of the frames is the one that was interrupted. */
static size_t
interrupted(void)
{
    /* look, on_signal, the trampoline, and then it */
    return 3;
}

START_TEST(a_signal_frame_is_passed_through)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_seen(interrupted());
}
END_TEST

START_TEST(the_copy_ends_the_walk)
{
    copied = sizeof(ucontext_t) + 1024; /* which look() has on it */
    deep(100);
    ck_assert_int_eq(seen.why, UNWIND_END_STACK);
    ck_assert_uint_gt(seen.count, 2);
    for (size_t i = 1; i < seen.count; i++)
        ck_assert_uint_eq(seen.walked[i] + 1,
                          (uint64_t)(uintptr_t)seen.theirs[i]);
}
END_TEST

/* Whatever lies on the stack, nothing else is read. */
START_TEST(any_stack_is_survived)
{
    enum { SIZE = 4096 };
    uint64_t *bytes = malloc(SIZE);
    uint64_t random = 88172645463325252ULL;
    uint64_t pcs[DEPTH_MAX];
    struct unwind_source source = own_source(&own);

    ck_assert_ptr_nonnull(bytes);
    for (int round = 0; round < 20000; round++) {
        struct thread_stack stack = {(uint64_t)(uintptr_t)bytes,
                                     (const uint8_t *)bytes, SIZE};
        struct thread_registers registers = {{0}};
        enum unwind_end why;

        for (size_t i = 0; i < SIZE / 8 + REGISTER_COUNT; i++) {
            const struct unwind_code *code;
            uint64_t value;

            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            code = &own.code[random % own.count];
            value =
                random >> 60 < 8
                    ? code->start + (random >> 8) % (code->end - code->start)
                : random >> 60 < 15 ? stack.start + (random >> 8) % SIZE
                                    : random;
            if (i < SIZE / 8)
                bytes[i] = value;
            else
                registers.values[i - SIZE / 8] = value;
        }
        registers.values[REGISTER_SP] = stack.start;
        ck_assert_uint_le(
            unwind_walk(&source, &stack, &registers, pcs, DEPTH_MAX, &why),
            DEPTH_MAX);
    }
    free(bytes);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unwind_walk");
    TCase *tc = tcase_create("own");

    own_tables_init(&own);
    tcase_add_test(tc, the_stack_is_as_backtrace_gives_it);
    tcase_add_test(tc, a_realigned_stack_is_followed);
    tcase_add_test(tc, a_library_is_passed_through);
    tcase_add_test(tc, a_signal_frame_is_passed_through);
    tcase_add_test(tc, the_copy_ends_the_walk);
    tcase_add_test(tc, any_stack_is_survived);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
