/*
 * test_resolve_indexed.c - names of an index that is read here are those that
 * the helper reads from it, whatever is in it, on however many cores.
 */
#include <string.h>

#include "clean_text.h"
#include "heap_dump.h"
#include "indexed_object.h"
#include "profile.h"
#include "suite.h"
#include "view.h"

enum { DEPTH = 4 /* addresses of a stack */ };

static const struct {
    unsigned cores, threads;
} machines[] = {
    {1, UINT32_MAX},  {2, UINT32_MAX}, {3, UINT32_MAX}, {8, UINT32_MAX},
    {64, UINT32_MAX}, {8, 0},          {8, 2},          {3, 1}};

enum { MACHINES = sizeof(machines) / sizeof(machines[0]) };

START_TEST(names_are_those_that_the_helper_reads)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *expected, *names;
    unsigned parts = 1 + FUNCTIONS / 256;

    make_index(1 + (uint32_t)_i);
    expected = resolve(&by_helper);
    ck_assert_uint_eq(threads_started, 0);
    for (size_t i = 0; i < MACHINES; i++) {
        unsigned most = machines[i].cores < parts ? machines[i].cores : parts;

        cores = machines[i].cores;
        threads_max = machines[i].threads;
        threads_started = 0;
        names = resolve(&here);
        ck_assert_uint_eq(threads_started,
                          most - 1 < threads_max ? most - 1 : threads_max);
        check_equal(names, expected);
        names_free(names);
    }
    names_free(expected);
}
END_TEST

/* Each part waits for those before it, and for its own thread. */
START_TEST(parts_may_be_done_in_any_order)
{
    static const struct {
        bool held[HELD], waits;
    } orders[] = {{{true, false}, false},
                  {{false, true}, false},
                  {{true, true}, false},
                  {{false, false}, true}};
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *expected, *names;

    make_index(11);
    expected = resolve(&by_helper);
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        memcpy(held, orders[i].held, sizeof(orders[i].held));
        waits = orders[i].waits;
        threads_started = 0;
        names = resolve(&here);
        ck_assert_uint_eq(threads_started, 2);
        check_equal(names, expected);
        names_free(names);
    }
    names_free(expected);
}
END_TEST

START_TEST(of_another_build_it_is_refused)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *names, *expected;

    object.build_id[0] ^= 1;
    make_index(7);
    object.build_id[0] ^= 1;
    names = resolve(&here);
    expected = resolve(&by_helper);
    check_equal(names, expected);
    ck_assert_ptr_nonnull(strstr(names_note(names), "symbol index"));
    ck_assert_uint_eq(asked, 2);
    names_free(names);
    names_free(expected);
}
END_TEST

/* ---- views ---- */

static const struct {
    const char *what;
    enum granularity granularity;
    const char *focus, *ignore;
    bool allocator_frames;
} ways[] = {
    {"plain", GRANULARITY_FUNCTIONS, NULL, NULL, false},
    {"allocator", GRANULARITY_FUNCTIONS, NULL, NULL, true},
    {"lines", GRANULARITY_LINES, NULL, NULL, false},
    {"files", GRANULARITY_FILES, NULL, NULL, false},
    {"addresses", GRANULARITY_ADDRESSES, NULL, NULL, false},
    {"focus", GRANULARITY_FUNCTIONS, "operator", NULL, false},
    {"ignore", GRANULARITY_FUNCTIONS, NULL, "many|hidden", false},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct heap_dump *
make_dump(void)
{
    struct error err = {0};
    struct heap_dump *dump;
    struct buffer text;
    char line[64];
    uint32_t dice = 5;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "heap_v2/1\n  t*: 1: 1 [0: 0]\n");
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        buffer_text(&text, "@");
        for (uint32_t k = 0; k < DEPTH; k++) { /* all but the leaf return */
            uint64_t at = k ? roll(&dice) % FUNCTIONS : i;

            snprintf(line, sizeof(line), " 0x%" PRIx64,
                     addresses[at] + (k > 0));
            buffer_text(&text, line);
        }
        snprintf(line, sizeof(line), "\n  t*: 1: %u [0: 0]\n",
                 1000 + roll(&dice) % 1000);
        buffer_text(&text, line);
    }
    dump = heap_dump_parse(text.data, text.size, &err);
    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(dump->address_count, FUNCTIONS);
    buffer_fini(&text);
    return dump;
}

static void
render(struct names *names, const struct view_form *form,
       const struct view_options *how, struct buffer *out)
{
    struct heap_dump *dump = make_dump();
    struct error err = {0};
    struct profile *profile =
        profile_new(dump, names, "/usr/bin/db", NULL, &err);

    ck_assert_msg(profile != NULL, "%s", err.text);
    buffer_init(out, 64 << 20);
    ck_assert_msg(form->render(profile, how, out, &err) == 0, "%s", err.text);
    ck_assert_uint_gt(out->size, 200);
    ck_assert_ptr_null(memmem(out->data, out->size, "no stack matches", 16));
    profile_free(profile);
    heap_dump_free(dump);
}

/* Nothing that a terminal would obey, or that is no UTF-8. */
static void
check_clean(const struct buffer *out)
{
    char *clean = malloc(out->size + 1);

    ck_assert_ptr_nonnull(clean);
    clean_text((struct span){out->data, out->size}, clean);
    for (size_t i = 0; i < out->size; i++)
        ck_assert_msg(out->data[i] == clean[i] || out->data[i] == '\n',
                      "byte %d at %zu", out->data[i], i);
    free(clean);
}

/* As heapwire-prof asks for them: the least that will do. */
START_TEST(every_view_is_the_same)
{
    const struct symbolizer_options by_helper = {.once = true};
    struct names *all;

    make_index(77);
    all = resolve(&by_helper);
    for (size_t i = 0; i < view_form_count; i++)
        for (size_t k = 0; k < WAYS; k++) {
            const struct view_form *form = &view_forms[i];
            struct view_options how = view_defaults;
            struct symbolizer_options here = {.once = true, .here = true};
            struct buffer expected, got;
            struct names *names;

            if (form->by_graphviz) /* DOT's, by another program */
                continue;
            how.granularity = ways[k].granularity;
            how.focus = ways[k].focus;
            how.ignore = ways[k].ignore;
            how.allocator_frames = ways[k].allocator_frames;
            how.nodecount = 100000;
            how.nodefraction = how.edgefraction = 0;
            how.maxdegree = 1000;
            here.no_lines = !view_needs_source_lines(form, &how);
            here.short_names = view_takes_short_names(form, &how);
            names = resolve(&here);
            render(all, form, &how, &expected);
            render(names, form, &how, &got);
            names_free(names);
            if (!form->binary)
                check_clean(&got);
            if (got.size != expected.size ||
                memcmp(got.data, expected.data, got.size) != 0) {
                size_t at = 0;

                while (at < got.size && at < expected.size &&
                       got.data[at] == expected.data[at])
                    at++;
                at = at > 60 ? at - 60 : 0;
                ck_abort_msg("--%s, %s: '%.150s', not '%.150s'", form->name,
                             ways[k].what, got.data + at, expected.data + at);
            }
            buffer_fini(&expected);
            buffer_fini(&got);
        }
    names_free(all);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("resolve_indexed");
    TCase *names = tcase_create("names");

    tcase_add_checked_fixture(names, set_up, tear_down);
    tcase_set_timeout(names, 120);
    tcase_add_loop_test(names, names_are_those_that_the_helper_reads, 0, 2);
    tcase_add_test(names, parts_may_be_done_in_any_order);
    tcase_add_test(names, every_view_is_the_same);
    tcase_add_test(names, of_another_build_it_is_refused);
    suite_add_tcase(suite, names);
    return suite_run(suite);
}
