/* test_unwind_rules.c - each rule of a table, and code without one, on stacks
 * made by hand. */
#include <elf.h>
#include <string.h>

#include "buffer.h"
#include "suite.h"
#include "table_writer.h"
#include "unwind_table.h"
#include "unwind_walk.h"

enum {
    KNOWN = 0x1000,   /* code whose one rule is the test's */
    UNKNOWN = 0x5000, /* code without a table */
    CODE_BYTES = 0x1000,
    STACK = 0x10000,
    WORDS = 32,
    DEPTH_MAX = 16,
    LAST = UNKNOWN + 8 /* returned to; its frame pointer is 0: the last */
};

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

static uint64_t stack[WORDS], pcs[DEPTH_MAX];
static struct thread_registers registers;
static enum unwind_end why;

static void
set_up(void)
{
    memset(stack, 0, sizeof(stack));
    memset(&registers, 0, sizeof(registers));
    registers.values[REGISTER_PC] = KNOWN + 4;
    registers.values[REGISTER_SP] = STACK;
}

static size_t
walk(const struct unwind_rule *rule, size_t room)
{
    struct unwind_table table;
    struct unwind_code code[] = {
        {KNOWN, KNOWN + CODE_BYTES, 0, rule ? &table : NULL},
        {UNKNOWN, UNKNOWN + CODE_BYTES, 0, NULL}};
    struct unwind_source source = {code, 2, NULL};
    struct thread_stack copy = {STACK, (const uint8_t *)stack, sizeof(stack)};
    struct table_writer writer;
    struct buffer bytes;
    size_t count;

    ck_assert_int_eq(table_writer_init(&writer), 0);
    buffer_init(&bytes, 1 << 20);
    if (rule) {
        ck_assert_int_eq(table_writer_add(&writer, 0, rule), 0);
        ck_assert_int_eq(table_writer_write(&writer, MACHINE, "", 0, &bytes),
                         0);
        ck_assert(unwind_table_open(&table, bytes.data, bytes.size, NULL, 0));
    }
    count = unwind_walk(&source, &copy, &registers, pcs, room, &why);
    buffer_fini(&bytes);
    table_writer_fini(&writer);
    return count;
}

/* The caller is LAST - 1, which nobody called. */
static void
check_caller(const struct unwind_rule *rule)
{
    ck_assert_uint_eq(walk(rule, DEPTH_MAX), 2);
    ck_assert_uint_eq(pcs[0], registers.values[REGISTER_PC]);
    ck_assert_uint_eq(pcs[1], LAST - 1);
    ck_assert_int_eq(why, UNWIND_END_OUTERMOST);
}

#define AT_8 .return_address = {UNWIND_AT_CFA, 0}, .return_offset = -8

START_TEST(a_register_and_an_offset)
{
    stack[3] = LAST;
    check_caller(&(struct unwind_rule){
        .cfa = UNWIND_REGISTER, .base = REGISTER_SP, .offset = 32, AT_8});
}
END_TEST

START_TEST(a_dereference)
{
    registers.values[REGISTER_FP] = STACK + 40;
    stack[4] = STACK + 56; /* at -8 of it: with 8 more, the CFA */
    stack[7] = LAST;
    check_caller(
        &(struct unwind_rule){.cfa = UNWIND_DEREF,
                              .base = REGISTER_FP,
                              .offset = -8,
                              .more = 8,
                              .frame_pointer = {UNWIND_AT_CFA, 0}, /* a zero */
                              AT_8});
}
END_TEST

START_TEST(a_dereference_behind_an_index)
{
    registers.values[2] = 3;
    stack[4] = STACK + 64;
    stack[7] = LAST;
    check_caller(&(struct unwind_rule){.cfa = UNWIND_DEREF,
                                       .base = REGISTER_SP,
                                       .offset = 8,
                                       .index = 2 + 1,
                                       AT_8});
}
END_TEST

START_TEST(an_entry_of_the_plt)
{
    const struct unwind_rule rule = {
        .cfa = UNWIND_PLT, .base = REGISTER_SP, .offset = 8, .more = 11, AT_8};

    stack[0] = LAST;
    check_caller(&rule);
    registers.values[REGISTER_PC] = KNOWN + 16 + 11;
    stack[0] = 0;
    stack[1] = LAST;
    check_caller(&rule);
}
END_TEST

START_TEST(a_return_address_in_a_register)
{
    registers.values[5] = LAST;
    check_caller(&(struct unwind_rule){.cfa = UNWIND_REGISTER,
                                       .base = REGISTER_SP,
                                       .return_address = {UNWIND_IN, 5}});
}
END_TEST

START_TEST(a_frame_pointer_that_is_saved_goes_on)
{
    stack[0] = STACK + 48; /* the caller's */
    stack[1] = UNKNOWN + 16;
    stack[6] = 0;
    stack[7] = LAST;
    for (int at = 0; at <= 1; at++) {
        const struct unwind_rule rule = {
            .cfa = UNWIND_REGISTER,
            .base = REGISTER_SP,
            .offset = 16,
            .frame_pointer = {at ? UNWIND_AT : UNWIND_AT_CFA, REGISTER_SP},
            .frame_offset = at ? 0 : -16,
            AT_8};

        ck_assert_uint_eq(walk(&rule, DEPTH_MAX), 3);
        ck_assert_uint_eq(pcs[1], UNKNOWN + 15);
        ck_assert_uint_eq(pcs[2], LAST - 1);
        ck_assert_int_eq(why, UNWIND_END_OUTERMOST);
    }
}
END_TEST

START_TEST(a_lost_frame_pointer_is_not_used)
{
    stack[1] = UNKNOWN + 16;
    ck_assert_uint_eq(
        walk(&(struct unwind_rule){.cfa = UNWIND_REGISTER,
                                   .base = REGISTER_SP,
                                   .offset = 16,
                                   .frame_pointer = {UNWIND_LOST, 0},
                                   AT_8},
             DEPTH_MAX),
        2);
    ck_assert_int_eq(why, UNWIND_END_RULE);
}
END_TEST

START_TEST(nobody_calls_the_outermost)
{
    ck_assert_uint_eq(
        walk(&(struct unwind_rule){.cfa = UNWIND_OUTERMOST}, DEPTH_MAX), 1);
    ck_assert_int_eq(why, UNWIND_END_OUTERMOST);
}
END_TEST

START_TEST(a_return_to_zero_is_the_end)
{
    ck_assert_uint_eq(walk(&(struct unwind_rule){.cfa = UNWIND_REGISTER,
                                                 .base = REGISTER_SP,
                                                 .offset = 16,
                                                 AT_8},
                           DEPTH_MAX),
                      1);
    ck_assert_int_eq(why, UNWIND_END_OUTERMOST);
}
END_TEST

START_TEST(a_cfa_that_does_not_rise_is_a_loop)
{
    /* Each frame's is where the frame pointer points. */
    const struct unwind_rule rule = {
        .cfa = UNWIND_REGISTER, .base = REGISTER_FP, .offset = 0, AT_8};

    registers.values[REGISTER_FP] = STACK + 16;
    stack[1] = KNOWN + 32;
    ck_assert_uint_eq(walk(&rule, DEPTH_MAX), 2);
    ck_assert_int_eq(why, UNWIND_END_LOOP);
}
END_TEST

START_TEST(the_copy_ends)
{
    ck_assert_uint_eq(walk(&(struct unwind_rule){.cfa = UNWIND_REGISTER,
                                                 .base = REGISTER_SP,
                                                 .offset = 8 * WORDS + 16,
                                                 AT_8},
                           DEPTH_MAX),
                      1);
    ck_assert_int_eq(why, UNWIND_END_STACK);
    registers.values[REGISTER_FP] = STACK + 8 * WORDS - 8;
    ck_assert_uint_eq(walk(NULL, DEPTH_MAX), 1);
    ck_assert_int_eq(why, UNWIND_END_STACK);
}
END_TEST

START_TEST(there_is_no_more_room)
{
    stack[1] = LAST;
    ck_assert_uint_eq(walk(&(struct unwind_rule){.cfa = UNWIND_REGISTER,
                                                 .base = REGISTER_SP,
                                                 .offset = 16,
                                                 AT_8},
                           1),
                      1);
    ck_assert_int_eq(why, UNWIND_END_DEPTH);
}
END_TEST

START_TEST(frame_pointers_lead_through_code_without_a_table)
{
    registers.values[REGISTER_FP] = STACK + 16;
    stack[2] = STACK + 48;
    stack[3] = UNKNOWN + 32;
    stack[6] = STACK + 80;
    stack[7] = KNOWN + 64;
    stack[10] = 0;
    stack[11] = LAST;
    ck_assert_uint_eq(walk(NULL, DEPTH_MAX), 4);
    ck_assert_uint_eq(pcs[1], UNKNOWN + 31);
    ck_assert_uint_eq(pcs[2], KNOWN + 63);
    ck_assert_uint_eq(pcs[3], LAST - 1);
    ck_assert_int_eq(why, UNWIND_END_OUTERMOST);
}
END_TEST

START_TEST(what_is_no_frame_pointer_ends_it)
{
    static const uint64_t others[] = {STACK - 8, STACK + 4, 0x77777};

    for (size_t i = 0; i < 3; i++) {
        registers.values[REGISTER_FP] = others[i];
        ck_assert_uint_eq(walk(NULL, DEPTH_MAX), 1);
        ck_assert_int_ne(why, UNWIND_END_OUTERMOST);
    }
    registers.values[REGISTER_FP] = STACK + 16;
    stack[3] = 0x7777; /* no code */
    ck_assert_uint_eq(walk(NULL, DEPTH_MAX), 1);
    ck_assert_int_eq(why, UNWIND_END_RULE);
}
END_TEST

/* A call through a null pointer: the caller is still on top of the stack, or in
 * the link register. */
START_TEST(a_leaf_outside_of_all_code_has_its_caller)
{
    registers.values[REGISTER_PC] = 0;
#if defined(__x86_64__)
    stack[0] = LAST;
    check_caller(NULL);
#else
    registers.values[REGISTER_LR] = LAST;
    registers.values[REGISTER_FP] = 8;
    ck_assert_uint_eq(walk(NULL, DEPTH_MAX), 2);
    ck_assert_uint_eq(pcs[1], LAST - 1);
#endif
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unwind_rules");
    TCase *tc = tcase_create("rules");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, a_register_and_an_offset);
    tcase_add_test(tc, a_dereference);
    tcase_add_test(tc, a_dereference_behind_an_index);
    tcase_add_test(tc, an_entry_of_the_plt);
    tcase_add_test(tc, a_return_address_in_a_register);
    tcase_add_test(tc, a_frame_pointer_that_is_saved_goes_on);
    tcase_add_test(tc, a_lost_frame_pointer_is_not_used);
    tcase_add_test(tc, nobody_calls_the_outermost);
    tcase_add_test(tc, a_return_to_zero_is_the_end);
    tcase_add_test(tc, a_cfa_that_does_not_rise_is_a_loop);
    tcase_add_test(tc, the_copy_ends);
    tcase_add_test(tc, there_is_no_more_room);
    tcase_add_test(tc, frame_pointers_lead_through_code_without_a_table);
    tcase_add_test(tc, what_is_no_frame_pointer_ends_it);
    tcase_add_test(tc, a_leaf_outside_of_all_code_has_its_caller);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
