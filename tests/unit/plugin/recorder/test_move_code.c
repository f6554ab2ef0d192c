/* test_move_code.c - entries of functions, and what they become elsewhere. */
#include <string.h>

#include "errors.h"
#include "move_code.h"
#include "patch_plan.h"
#include "suite.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

enum { ADDRESS = 0x401000, PLACE = 0x300000, BIAS = 0x10000 };

static const struct entry {
    const char *what;
    const uint8_t *code;
    size_t size;
    size_t kept, replaced; /* bytes */
    /* At PLACE, of a program that is BIAS above its file's addresses. */
    const uint8_t *moved;
    size_t moved_size;
} entries[] = {
    {"pushes", BYTES("\x41\x57\x41\x56\x41\x55\xc3"), 0, 6,
     BYTES("\x41\x57\x41\x56\x41\x55\xe9\xfb\x0f\x11\x00")},
    {"endbr64 stays", BYTES("\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x53\xc3"), 4, 5,
     BYTES("\x48\x83\xec\x08\x53\xe9\xff\x0f\x11\x00")},
    /* lea 0x100(%rip),%rdx */
    {"an address that is relative", BYTES("\x48\x8d\x15\x00\x01\x00\x00\xc3"),
     0, 7, BYTES("\x48\x8d\x15\x00\x11\x11\x00\xe9\xfb\x0f\x11\x00")},
    /* cmpl $5,0x100(%rip) */
    {"one with a number behind it", BYTES("\x83\x3d\x00\x01\x00\x00\x05\xc3"),
     0, 7, BYTES("\x83\x3d\x00\x11\x11\x00\x05\xe9\xfb\x0f\x11\x00")},
    /* test %rdi,%rdi; je .+0x30 */
    {"a short conditional jump", BYTES("\x48\x85\xff\x74\x2e\xc3"), 0, 5,
     BYTES("\x48\x85\xff\x0f\x84\x2a\x10\x11\x00\xe9\xf7\x0f\x11\x00")},
    /* ja .+0x100 */
    {"a long one", BYTES("\x0f\x87\x00\x01\x00\x00\xc3"), 0, 6,
     BYTES("\x0f\x87\x00\x11\x11\x00\xe9\xfb\x0f\x11\x00")},
    {"a jump", BYTES("\xe9\x00\x01\x00\x00"), 0, 5,
     BYTES("\xe9\x00\x11\x11\x00\xe9\xfb\x0f\x11\x00")},
};

START_TEST(an_entry_does_elsewhere_what_it_did)
{
    const struct entry *e = &entries[_i];
    const struct code code = {e->code, e->size, ADDRESS};
    struct patch_function f = {.address = 0};
    uint8_t moved[PATCH_CODE_MAX];
    struct error err;

    ck_assert_msg(code_move_entry(&code, &f, &err) == 0, "%s: %s", e->what,
                  err.text);
    ck_assert_uint_eq(f.address, ADDRESS + e->kept);
    ck_assert_uint_eq(f.original_size, e->replaced);
    ck_assert_mem_eq(f.original, e->code + e->kept, e->replaced);
    ck_assert(patch_fix_code(&f, PLACE, BIAS, moved));
    ck_assert_uint_eq(f.code_size, e->moved_size);
    ck_assert_msg(memcmp(moved, e->moved, e->moved_size) == 0, "%s", e->what);
}
END_TEST

static const struct refused {
    const uint8_t *code;
    size_t size;
    const char *why;
} refusals[] = {
    {BYTES("\xe8\x00\x00\x00\x00\xc3"), "begins with a call"},
    {BYTES("\x55\xff\x15\x00\x00\x00\x00\xc3"), "begins with a call"},
    {BYTES("\xe3\x10\x90\x90\x90\xc3"),
     "begins with a jump that has no long form"}, /* jrcxz */
    {BYTES("\xe2\x10\x90\x90\x90\xc3"),
     "begins with a jump that has no long form"}, /* loop */
    {BYTES("\x2e\x74\x10\x90\x90\xc3"), "begins with a jump that has a prefix"},
    {BYTES("\x31\xc0\xc3"), "is too short for a jump"},
    {BYTES("\xf3\x0f\x1e\xfa\x31\xc0\xc3"), "is too short for a jump"},
    {BYTES("\x48\x8d"), "begins with bytes that are no instruction"},
    {BYTES("\x06\x90\x90\x90\x90"),
     "begins with bytes that are no instruction"},
    /* xbegin; mov 0x100(%eip),%eax */
    {BYTES("\xc7\xf8\x00\x00\x00\x00\xc3"),
     "begins with a jump that has no long form"},
    {BYTES("\x67\x8b\x05\x00\x01\x00\x00\xc3"),
     "begins with an instruction that is valid only at its own address"},
};

START_TEST(what_cannot_be_moved_is_refused)
{
    const struct refused *r = &refusals[_i];
    const struct code code = {r->code, r->size, ADDRESS};
    struct patch_function f;
    struct error err;

    ck_assert_int_eq(code_move_entry(&code, &f, &err), -1);
    ck_assert_str_eq(err.text, r->why);
}
END_TEST

START_TEST(what_is_too_far_is_refused)
{
    const struct code code = {BYTES("\xe9\x00\x01\x00\x00"), ADDRESS};
    struct patch_function f;
    uint8_t moved[PATCH_CODE_MAX];
    struct error err;

    ck_assert_int_eq(code_move_entry(&code, &f, &err), 0);
    ck_assert(patch_fix_code(&f, ADDRESS + 0x7fff0000ULL, 0, moved));
    ck_assert(!patch_fix_code(&f, ADDRESS + 0x80010000ULL, 0, moved));
}
END_TEST

START_TEST(a_loop_back_is_seen)
{
    /* push %rbx; dec %rdi; jne the dec; pop %rbx; ret */
    const struct code loop = {BYTES("\x53\x48\xff\xcf\x75\xfb\x5b\xc3"),
                              ADDRESS};
    /* jmp .+4, call .-8 */
    const struct code part = {BYTES("\xeb\x02\xe8\xf1\xff\xff\xff"),
                              ADDRESS + 8};
    const struct code broken = {BYTES("\x53\x06"), ADDRESS};
    /* jmp *%rax; jmp *0x100(%rip) */
    const struct code table = {BYTES("\x53\xff\xe0"), ADDRESS};
    const struct code slot = {BYTES("\xff\x25\x00\x01\x00\x00"), ADDRESS};

    ck_assert_int_eq(code_reaches(&loop, ADDRESS, ADDRESS + 5), CODE_REACHES);
    ck_assert_int_eq(code_reaches(&loop, ADDRESS, ADDRESS + 1),
                     CODE_REACHES_NOT);
    ck_assert_int_eq(code_reaches(&loop, ADDRESS + 2, ADDRESS + 8),
                     CODE_REACHES_NOT);
    ck_assert_int_eq(code_reaches(&part, ADDRESS, ADDRESS + 5), CODE_REACHES);
    ck_assert_int_eq(code_reaches(&part, ADDRESS + 1, ADDRESS + 5),
                     CODE_REACHES_NOT);
    ck_assert_int_eq(code_reaches(&broken, 0, 1), CODE_REACH_UNKNOWN);
    ck_assert_int_eq(code_reaches(&table, 0, 1), CODE_REACH_UNKNOWN);
    ck_assert_int_eq(code_reaches(&slot, 0, 1), CODE_REACHES_NOT);
}
END_TEST

START_TEST(calls_of_a_function_are_found)
{
    /* call .+0x10; jmp .+0xb; je .+6; ret */
    const struct code code = {BYTES("\xe8\x0b\x00\x00\x00\xe9\x06\x00\x00\x00"
                                    "\x0f\x84\x00\x00\x00\x00\xc3"),
                              ADDRESS};
    const struct code near = {BYTES("\xeb\x0e"), ADDRESS};
    const struct code broken = {BYTES("\x06"), ADDRESS};
    size_t places[3] = {0};

    ck_assert_uint_eq(code_find_calls(&code, ADDRESS + 16, places, 3), 3);
    ck_assert_uint_eq(places[0], 1);
    ck_assert_uint_eq(places[1], 6);
    ck_assert_uint_eq(places[2], 12);
    ck_assert_uint_eq(code_find_calls(&code, ADDRESS + 15, places, 3), 0);
    ck_assert_uint_eq(code_find_calls(&code, ADDRESS + 16, places, 2), 3);
    ck_assert_uint_eq(code_find_calls(&near, ADDRESS + 16, places, 3), 4);
    ck_assert_uint_eq(code_find_calls(&broken, ADDRESS, places, 3), 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("move_code");
    TCase *tcase = tcase_create("move_code");

    tcase_add_loop_test(tcase, an_entry_does_elsewhere_what_it_did, 0,
                        sizeof(entries) / sizeof(entries[0]));
    tcase_add_loop_test(tcase, what_cannot_be_moved_is_refused, 0,
                        sizeof(refusals) / sizeof(refusals[0]));
    tcase_add_test(tcase, what_is_too_far_is_refused);
    tcase_add_test(tcase, a_loop_back_is_seen);
    tcase_add_test(tcase, calls_of_a_function_are_found);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
