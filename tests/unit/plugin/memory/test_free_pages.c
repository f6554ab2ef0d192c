/* test_free_pages.c - why free pages stay, in words. */
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "free_pages.h"
#include "stats.h"
#include "suite.h"

#define ARENAS                                                                 \
    "arenas.page 4096\n"                                                       \
    "stats.resident 1048576000\n"                                              \
    "stats.arenas.0.nthreads 3\n"                                              \
    "stats.arenas.0.pdirty 2560\n"                                             \
    "stats.arenas.7.nthreads 0\n"                                              \
    "stats.arenas.7.pdirty 47872\n"                                            \
    "stats.arenas.7.pmuzzy 256\n"
#define HELD                                                                   \
    "rss stays, because 198.0 MB of free pages are kept, 188.0 MB of them in " \
    "idle arena 7 (187.0 MB dirty, 1.0 MB muzzy): "

static const struct {
    const char *stats, *said;
} cases[] = {
    {ARENAS "background_thread 0\nopt.dirty_decay_ms 10000\n",
     HELD "background_thread is 0, so an arena gives its pages back only while "
          "threads allocate and free in it: "
          "Jemalloc.getInstance().background_threads(true, 3600) does it for "
          "an hour, purge() once"},
    {ARENAS "background_thread 1\nopt.dirty_decay_ms 10000\n",
     HELD "background threads give back what is free for dirty_decay_ms, "
          "10000 ms; Jemalloc.getInstance().purge() does it at once"},
    {ARENAS "background_thread 0\nopt.dirty_decay_ms 10000\n"
            "arenas.dirty_decay_ms -1\n",
     HELD "dirty_decay_ms is -1, so they are never given back: "
          "Jemalloc.getInstance().decay(10000, 0, 3600) gives them back for "
          "an hour, purge() once"},
    {ARENAS, HELD "Jemalloc.getInstance().purge() gives them back, where this "
                  "jemalloc can"},
    /* one thread, and its arena is the first */
    {"arenas.page 4096\nstats.resident 104857600\nbackground_thread 1\n"
     "opt.dirty_decay_ms 5\nstats.arenas.0.nthreads 1\n"
     "stats.arenas.0.pdirty 5120\n",
     "rss stays, because 20.0 MB of free pages are kept, 20.0 MB of them in "
     "arena "
     "0 (1 thread) (20.0 MB dirty, 0.0 MB muzzy): background threads give "
     "back what is free for dirty_decay_ms, 5 ms; "
     "Jemalloc.getInstance().purge() does it at once"},
    /* muzzy ones have a time of their own */
    {"arenas.page 4096\nstats.resident 104857600\nbackground_thread 0\n"
     "arenas.dirty_decay_ms 0\narenas.muzzy_decay_ms -1\n"
     "stats.arenas.0.nthreads 1\nstats.arenas.0.pdirty 256\n"
     "stats.arenas.0.pmuzzy 5120\n",
     "rss stays, because 21.0 MB of free pages are kept, 21.0 MB of them in "
     "arena "
     "0 (1 thread) (1.0 MB dirty, 20.0 MB muzzy): muzzy_decay_ms is -1, so "
     "they are never given back: Jemalloc.getInstance().decay(10000, 0, 3600) "
     "gives them back for an hour, purge() once"},
    /* too few, by number and by share; not known */
    {"arenas.page 4096\nstats.resident 20971520\nstats.arenas.0.pdirty 4095\n",
     ""},
    {"arenas.page 4096\nstats.resident 1048576000\nstats.arenas.0.pdirty "
     "5120\n",
     ""},
    {"arenas.page 4096\nstats.arenas.0.pdirty 51200\n", ""},
    {"", ""},
};

START_TEST(the_arena_and_the_lever_are_named)
{
    struct error err = {0};
    struct stats *stats =
        stats_parse(cases[_i].stats, strlen(cases[_i].stats), &err);
    struct buffer out;

    ck_assert_msg(stats != NULL, "%s", err.text);
    buffer_init(&out, 1024);
    free_pages_write(stats, &out);
    ck_assert_str_eq(out.data ? out.data : "", cases[_i].said);
    buffer_fini(&out);
    stats_unref(stats);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("free_pages");
    TCase *tc = tcase_create("free_pages");

    tcase_add_loop_test(tc, the_arena_and_the_lever_are_named, 0,
                        sizeof(cases) / sizeof(cases[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
