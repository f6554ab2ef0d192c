/* test_addr2line_names.c - the naming rule, on made chains. */
#include <stdio.h>
#include <string.h>

#include "addr2line_names.h"
#include "bfd_names.h"
#include "errors.h"
#include "failing_memory.h"
#include "suite.h"

enum { READABLE_BYTES = 1 << 20 };

static struct readable_names *readables;
static struct addr2line_names *names;
static struct frame frames[NAMES_INLINE_MAX];
static struct addr2line_numbers numbers[NAMES_INLINE_MAX];
static uint32_t count;

static struct span
span(const char *text)
{
    return (struct span){text, strlen(text)};
}

static struct addr2line_names *
new_names(struct readable_names *with, struct error *err)
{
    const struct addr2line_reader reader = {readable_names_get, with};

    return addr2line_names_new(&reader, err);
}

static void
set_up(void)
{
    struct error err;

    readables = readable_names_new(READABLE_BYTES);
    ck_assert_ptr_nonnull(readables);
    names = new_names(readables, &err);
    ck_assert_ptr_nonnull(names);
}

static void
tear_down(void)
{
    addr2line_names_free(names);
    readable_names_free(readables);
}

static int
ask(const struct code_frame *list, uint32_t size, const char *symbol)
{
    struct code_chain chain = {list, size};
    struct addr2line_name holder = {.text = span(symbol)};

    return addr2line_names_frames(names, &chain, &holder, frames, numbers,
                                  &count);
}

/* The functions of the answer, joined by ':'. */
static const char *
functions(const struct code_frame *list, uint32_t size, const char *symbol)
{
    static char text[1000];

    ck_assert_int_eq(ask(list, size, symbol), 0);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 i ? ":" : "", frames[i].function);
    return text;
}

static struct code_frame
frame(uint32_t line, const char *name, bool inlined)
{
    return (struct code_frame){.name = span(name),
                               .linkage = name[0] == '_',
                               .inlined = inlined,
                               .file = span("/src/a.cc"),
                               .line = line};
}

START_TEST(linkage_names_are_printed_readable)
{
    struct code_frame list[] = {frame(2, "_ZN1A3runEi", true),
                                frame(1, "_Z4mainv", false)};

    ck_assert_str_eq(functions(list, 2, "_Z5otherv"), "A::run(int):main()");
    ck_assert_str_eq(frames[0].file, "/src/a.cc");
    ck_assert_uint_eq(frames[0].line, 2);
    ck_assert_uint_eq(frames[1].line, 1);
    ck_assert_str_eq(functions(list, 2, ""), "A::run(int):main()");
}
END_TEST

START_TEST(an_outermost_function_without_one_has_its_symbols_name)
{
    struct code_frame list[] = {frame(2, "_Z1iv", true),
                                frame(1, "hidden", false)};

    ck_assert_str_eq(functions(list + 1, 1, "_ZL6hiddeni"), "hidden(int)");
    ck_assert_str_eq(functions(list, 2, "_ZL6hiddeni"), "i():hidden(int)");
    ck_assert_str_eq(functions(list + 1, 1, "_ZL6hiddeni.cold"),
                     "hidden(int) [clone .cold]");
    ck_assert_str_eq(functions(list + 1, 1, ""), "hidden");
}
END_TEST

/* The symbol is that of the function around it; binutils 2.40 has it once for
 * each place where one was inlined, so for most of a program's. */
START_TEST(an_inlined_function_without_one_has_its_own)
{
    struct code_frame list[] = {frame(3, "churn", true),
                                frame(2, "twice", true),
                                frame(1, "_Z5outerv", false)};

    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(functions(list, 3, "_Z5outerv"),
                         "churn:twice:outer()");
        ck_assert_str_eq(functions(list + 1, 2, "_Z3newv"), "twice:outer()");
    }
}
END_TEST

START_TEST(nobody_knows_this_function)
{
    struct code_frame list[] = {frame(0, "", true), frame(1, "", false)};

    ck_assert_str_eq(functions(NULL, 0, ""), "");
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(frames[0].file, "");
    ck_assert_str_eq(functions(NULL, 0, "_Z1av"), "a()");
    ck_assert_str_eq(functions(list + 1, 1, ""), "");
    ck_assert_uint_eq(frames[0].line, 1);
    ck_assert_str_eq(functions(list + 1, 1, "b"), "b");
    ck_assert_str_eq(functions(list, 2, ""), "??:??");
    ck_assert_str_eq(functions(list, 2, "b"), "??:b");
}
END_TEST

START_TEST(readable_names_stay_as_they_are)
{
    struct code_frame list[] = {frame(2, "_ZN1A3runEi", true),
                                frame(1, "outer", false)};
    struct code_chain chain = {list, 2};
    struct addr2line_name symbol = {.text = span("_Z3outv"), .readable = true};

    list[0].readable = list[1].readable = true;
    ck_assert_int_eq(
        addr2line_names_frames(names, &chain, &symbol, frames, numbers, &count),
        0);
    ck_assert_str_eq(frames[0].function, "_ZN1A3runEi");
    ck_assert_str_eq(frames[1].function, "_Z3outv");
}
END_TEST

START_TEST(versions_are_cut_and_texts_are_kept_once)
{
    char text[] = "malloc@@GLIBC_2.2.5";
    struct addr2line_name name = {{text, strlen(text)}, false};
    const char *first = addr2line_names_readable(names, &name);

    ck_assert_str_eq(first, "malloc");
    ck_assert_ptr_eq(addr2line_names_readable(names, &name), first);
    text[0] = 'x';
    ck_assert_str_eq(addr2line_names_readable(names, &name), "xalloc");
    ck_assert_str_eq(first, "malloc");
    name.text.size = 3; /* not the whole of what lies there */
    ck_assert_str_eq(addr2line_names_readable(names, &name), "xal");
    name.text.size = 0;
    ck_assert_str_eq(addr2line_names_readable(names, &name), "");
}
END_TEST

START_TEST(rust_is_readable)
{
    static const struct {
        const char *raw, *readable;
    } rust[] = {
        {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
         "core::ptr::drop_in_place"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
    };

    for (size_t i = 0; i < sizeof(rust) / sizeof(rust[0]); i++) {
        struct addr2line_name name = {span(rust[i].raw), false};

        ck_assert_str_eq(addr2line_names_readable(names, &name),
                         rust[i].readable);
    }
}
END_TEST

START_TEST(names_that_are_expected_are_made_readable_by_several_threads)
{
    static char own[5000][32];
    char wanted[32];

    for (uint32_t i = 0; i < 5000; i++) {
        struct code_frame list[1];
        struct code_chain chain = {list, 1};

        snprintf(own[i], sizeof(own[i]), "_Z5f%04dv", (int)i);
        list[0] = frame(i, own[i], false);
        ck_assert_int_eq(readable_names_expect(readables, &chain), 0);
        if (i == 10 || i == 4000) /* the others are new to the next */
            readable_names_make(readables);
    }
    readable_names_make(readables);
    for (uint32_t i = 0; i < 5000; i++) {
        struct code_frame list[] = {frame(i, own[i], false)};

        snprintf(wanted, sizeof(wanted), "f%04d()", (int)i);
        ck_assert_str_eq(functions(list, 1, "_Z5otherv"), wanted);
    }
}
END_TEST

START_TEST(without_memory_it_says_so)
{
    char own[32], symbol[32] = "";
    bool done = false;

    for (unsigned n = 1; !done; n++) {
        struct readable_names *readable;
        struct addr2line_names *poor = NULL;
        struct error err = {0};
        int rc = 0;

        allocations = 0;
        failing = n;
        readable = readable_names_new(READABLE_BYTES);
        if (readable)
            poor = new_names(readable, &err);
        for (uint32_t i = 0; poor && rc == 0 && i < 1200; i++) {
            struct code_frame list[1];
            struct code_chain chain = {list, 1};
            struct addr2line_name name = {.text = span(symbol)};

            snprintf(own, sizeof(own), "own%d", (int)i);
            snprintf(symbol, sizeof(symbol), "_Z3sym%dv", (int)i);
            list[0] = frame(i, own, false);
            name.text = span(symbol);
            rc = addr2line_names_frames(poor, &chain, &name, frames, numbers,
                                        &count);
            list[0].linkage = true;
            if (rc == 0 && i < 100) /* too few for a second thread */
                rc = readable_names_expect(readable, &chain);
            if (i == 99)
                readable_names_make(readable);
        }
        done = allocations < n;
        failing = 0;
        ck_assert_int_eq(poor && rc == 0, done);
        ck_assert_int_eq(readable && !poor, err.text[0] != '\0');
        addr2line_names_free(poor);
        readable_names_free(readable);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("addr2line_names");
    TCase *tc = tcase_create("addr2line_names");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, linkage_names_are_printed_readable);
    tcase_add_test(tc, an_outermost_function_without_one_has_its_symbols_name);
    tcase_add_test(tc, an_inlined_function_without_one_has_its_own);
    tcase_add_test(tc, nobody_knows_this_function);
    tcase_add_test(tc, readable_names_stay_as_they_are);
    tcase_add_test(tc, versions_are_cut_and_texts_are_kept_once);
    tcase_add_test(tc, rust_is_readable);
    tcase_add_test(
        tc, names_that_are_expected_are_made_readable_by_several_threads);
    tcase_add_test(tc, without_memory_it_says_so);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
