/* test_profile_faults.c - from text to reports without memory, and from
 * rubbish. */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "diff.h"
#include "errors.h"
#include "failing_memory.h"
#include "forms.h"
#include "graph.h"
#include "heap_dump.h"
#include "names.h"
#include "profile.h"
#include "suite.h"
#include "view_options.h"

static const char whole[] =
    "heap_v2/524288\n"
    "  t*: 6: 700 [0: 0]\n"
    "@ 0x1000 0x2001 0x3001 0x3001 0x4001\n"
    "  t*: 5: 600 [7: 800]\n"
    "  t0: 5: 600 [7: 800]\n"
    "@ 0x1000 0x2001 0x5001 0x4001\n"
    "  t*: 1: 100 [0: 0]\n"
    "  t0: 1: 100 [0: 0]\n"
    "MAPPED_LIBRARIES:\n"
    "1000-9000 r-xp 00100000 fe:01 42   /usr/bin/my db\n";

static const char *const functions[] = {"malloc", "ns::put(int)", "twice(int)",
                                        "main", "DoneCallback::Run()"};

static const struct view_options lines = {.granularity = GRANULARITY_LINES,
                                          .measure = MEASURE_ALLOC_OBJECTS,
                                          .nodecount = 10,
                                          .maxdegree = 8,
                                          .focus = "main|put|Run",
                                          .ignore = "(no)+ such"};

static const struct way {
    int (*render)(const struct profile *profile,
                  const struct view_options *options, struct buffer *out,
                  struct error *err);
    const struct view_options *options;
    bool difference; /* of it and itself */
    unsigned least;  /* allocations */
} ways[] = {
    {dot_write, NULL, false, 30},
    {dot_write, &lines, false, 40},
    {text_write, &lines, false, 40},
    {text_write, NULL, true, 50},
};

/* What the library's users do, in one function that takes bytes: a fuzzer's
 * entry.  0, or -1 with *err. */
static int
render(const char *text, size_t size, const struct way *way, struct buffer *out,
       struct error *err)
{
    struct profile *difference = NULL;
    struct names *names = names_new(1 << 20);
    struct heap_dump *dump = NULL;
    struct profile *profile = NULL;
    int rc = -1;

    if (!names) {
        error_memory(err, "names");
        goto out;
    }
    dump = heap_dump_parse(text, size, err);
    if (!dump)
        goto out;
    for (size_t i = 0; i < dump->address_count; i++) {
        uint64_t address = dump->addresses[i];
        const char *name = functions[(address >> 12) % 5];
        struct frame frames[2] = {{"inner(char)", "a.c", 1}, {name, "", 0}};

        if (names_add(names, address, frames, 2, false) != 0 ||
            names_set_symbol(names, address, name, address & ~0xfULL) != 0) {
            error_memory(err, "names");
            goto out;
        }
    }
    profile = profile_new(dump, names, "/usr/bin/my db", NULL, err);
    if (profile && way->difference)
        difference = diff_make(profile, profile, err);
    if (profile && (difference || !way->difference))
        rc = way->render(difference ? difference : profile, way->options, out,
                         err);
out:
    profile_free(difference);
    profile_free(profile);
    heap_dump_free(dump);
    names_free(names);
    return rc;
}

START_TEST(every_allocation_may_fail)
{
    struct error err;
    struct buffer out;
    int rc = -1;

    for (failing = 1; rc != 0; failing++) {
        memset(&err, 0, sizeof(err));
        buffer_init(&out, 1 << 20);
        allocations = 0;
        rc = render(whole, sizeof(whole) - 1, &ways[_i], &out, &err);
        if (rc != 0)
            ck_assert_msg(err.code == ER_OUT_OF_MEMORY, "%u: %d %s", failing,
                          err.code, err.text);
        buffer_fini(&out);
        ck_assert_uint_lt(failing, 1000);
    }
    ck_assert_uint_gt(failing, ways[_i].least);
    failing = 0;
}
END_TEST

/* Damaged dumps are refused or drawn; the sanitizer sees to the rest. */
START_TEST(damage_is_survived)
{
    static const char rubbish[] = "0123456789abcdefx@t*: \n[]-M\xff\x00";
    char text[sizeof(whole)];
    unsigned state = 1, drawn = 0, refused = 0;
    struct error err = {0};
    struct buffer out;

    for (int round = 0; round < 20000; round++) {
        memcpy(text, whole, sizeof(whole));
        for (int k = 0; k < 1 + round % 4; k++) {
            size_t place, pick;

            state = state * 1103515245 + 12345;
            place = (state >> 8) % (sizeof(whole) - 1);
            state = state * 1103515245 + 12345;
            pick = (state >> 8) % (sizeof(rubbish) - 1);
            text[place] = rubbish[pick];
        }
        buffer_init(&out, 1 << 20);
        if (render(text, sizeof(whole) - 1, &ways[0], &out, &err) == 0) {
            drawn++;
            ck_assert_int_eq(strncmp(out.data, "digraph \"", 9), 0);
            ck_assert_str_eq(out.data + out.size - 3, "\n}\n");
        } else {
            refused++;
        }
        buffer_fini(&out);
    }
    ck_assert_uint_gt(drawn, 1000);
    ck_assert_uint_gt(refused, 1000);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("profile_faults");
    TCase *tc = tcase_create("profile_faults");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_allocation_may_fail, 0,
                        sizeof(ways) / sizeof(ways[0]));
    tcase_add_test(tc, damage_is_survived);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
