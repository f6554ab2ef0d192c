/* test_levers.c - what is put back, when, and by whom, over a jemalloc that
 * this test plays. */

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "levers.h"
#include "suite.h"

enum { ARENAS = 5, UNUSED = 2 /* this one is not initialised */ };

static struct {
    unsigned count;
    ssize_t decay[2][ARENAS], fresh[2]; /* of arenas; of new ones */
    bool background, no_background, no_decay;
    int fail_write;   /* errno of the write with that number */
    unsigned fail_at; /* counted down; 0: none */
    unsigned purges, switches;
} fake;

static int
give(const void *value, size_t size, void *old, const size_t *old_size)
{
    if (!old)
        return 0;
    if (*old_size != size)
        return EINVAL;
    memcpy(old, value, size);
    return 0;
}

static int
access_value(ssize_t *value, void *old, const size_t *old_size, const void *new)
{
    int error = give(value, sizeof(*value), old, old_size);

    if (error != 0 || !new)
        return error;
    if (fake.fail_at > 0 && --fake.fail_at == 0)
        return fake.fail_write;
    memcpy(value, new, sizeof(*value));
    return 0;
}

static int
fake_mallctl(const char *name, void *old, size_t *old_size, void *new,
             size_t new_size)
{
    unsigned arena;
    char rest[64];

    (void)new_size;
    if (strcmp(name, "arena.4096.purge") == 0) {
        fake.purges++;
        return 0;
    }
    if (strcmp(name, "background_thread") == 0)
        return fake.no_background ? ENOENT
                                  : give(&fake.background, 1, old, old_size);
    if (strcmp(name, "arenas.narenas") == 0)
        return give(&fake.count, sizeof(fake.count), old, old_size);
    if (fake.no_decay)
        return ENOENT;
    if (strcmp(name, "arenas.dirty_decay_ms") == 0)
        return access_value(&fake.fresh[0], old, old_size, new);
    if (strcmp(name, "arenas.muzzy_decay_ms") == 0)
        return access_value(&fake.fresh[1], old, old_size, new);
    if (sscanf(name, "arena.%u.%63s", &arena, rest) != 2 || arena >= fake.count)
        return ENOENT;
    if (arena == UNUSED)
        return EFAULT;
    if (strcmp(rest, "dirty_decay_ms") == 0)
        return access_value(&fake.decay[0][arena], old, old_size, new);
    if (strcmp(rest, "muzzy_decay_ms") == 0)
        return access_value(&fake.decay[1][arena], old, old_size, new);
    return ENOENT;
}

static int
fake_switch(const struct lever_host *host, bool on)
{
    (void)host;
    fake.switches++;
    fake.background = on;
    return 0;
}

static void
watch_nothing(mallctl_fn *mallctl)
{
    (void)mallctl;
}

static const struct lever_host host = {
    .mallctl = fake_mallctl, .background = fake_switch, .watch = watch_nothing};

/* Arenas 0, 1 and 3; the program has set that of arena 1. */
static void
set_up(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.count = 4;
    fake.fresh[0] = 10000;
    for (int i = 0; i < ARENAS; i++)
        fake.decay[0][i] = 10000;
    fake.decay[0][1] = -1;
    fake.decay[1][1] = 77;
}

static void
check_decay(int arena, ssize_t dirty_ms, ssize_t muzzy_ms)
{
    ck_assert_int_eq(fake.decay[0][arena], dirty_ms);
    ck_assert_int_eq(fake.decay[1][arena], muzzy_ms);
}

static void
check_as_it_was(void)
{
    check_decay(0, 10000, 0);
    check_decay(1, -1, 77);
    check_decay(UNUSED, 10000, 0);
    check_decay(3, 10000, 0);
    ck_assert_int_eq(fake.fresh[0], 10000);
    ck_assert_int_eq(fake.fresh[1], 0);
}

START_TEST(each_arena_gets_the_value_and_its_own_one_back)
{
    struct lever_state state;

    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    check_decay(0, 500, 20);
    check_decay(1, 500, 20);
    check_decay(UNUSED, 10000, 0);
    check_decay(3, 500, 20);
    ck_assert_int_eq(fake.fresh[0], 500);
    ck_assert_int_eq(fake.fresh[1], 20);
    state = levers_state(LEVER_DECAY);
    ck_assert(state.in_force && levers_any());
    ck_assert_str_eq(state.by, "ann");
    ck_assert_int_eq(state.set[0], 500);
    ck_assert_int_eq(state.was[0], 10000);
    ck_assert_int_ge(state.until_ms, state.since_ms + 59000);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_as_it_was();
    state = levers_state(LEVER_DECAY);
    ck_assert(!state.in_force && !state.by_itself && state.ended_ms > 0);
    ck_assert(!levers_any());
}
END_TEST

START_TEST(a_second_one_keeps_the_first_old_values)
{
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    ck_assert_int_eq(levers_decay(&host, -1, 30, 600, "bob"), 0);
    check_decay(1, -1, 30);
    ck_assert_str_eq(levers_state(LEVER_DECAY).by, "bob");
    ck_assert_int_eq(levers_state(LEVER_DECAY).was[0], 10000);
    ck_assert_int_gt(levers_expire(&host), 60000);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_as_it_was();
}
END_TEST

START_TEST(an_arena_made_meanwhile_gets_what_new_ones_had)
{
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    fake.decay[0][4] = fake.fresh[0];
    fake.decay[1][4] = fake.fresh[1];
    fake.count = 5;
    ck_assert_int_eq(levers_decay(&host, 600, 30, 60, "ann"), 0);
    check_decay(4, 600, 30);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_decay(4, 10000, 0);
    check_as_it_was();
}
END_TEST

START_TEST(what_the_program_sets_itself_is_left_alone)
{
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    fake.decay[0][3] = 4444;
    fake.fresh[1] = 55;
    ck_assert_int_eq(levers_undo(&host), 0);
    check_decay(3, 4444, 0);
    ck_assert_int_eq(fake.fresh[1], 55);
    fake.decay[0][3] = 10000;
    fake.fresh[1] = 0;
    check_as_it_was();
    /* and a value that it had set before a second lever is put back */
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    fake.decay[0][3] = 4444;
    ck_assert_int_eq(levers_decay(&host, 600, 20, 60, "ann"), 0);
    check_decay(3, 600, 20);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_decay(3, 4444, 0);
}
END_TEST

START_TEST(it_ends_by_itself_at_its_time)
{
    int left = levers_expire(&host);

    ck_assert_int_eq(left, -1);
    ck_assert_int_eq(levers_decay(&host, 500, 20, 1, "ann"), 0);
    ck_assert_int_eq(levers_background(&host, true, 600, "ann"), 0);
    left = levers_expire(&host);
    ck_assert_int_gt(left, 0);
    if (levers_state(LEVER_DECAY).in_force) /* not after a second's pause */
        ck_assert_int_le(left, 1000);
    while (levers_state(LEVER_DECAY).in_force) {
        poll(NULL, 0, left);
        left = levers_expire(&host);
    }
    check_as_it_was();
    ck_assert(levers_state(LEVER_DECAY).by_itself);
    ck_assert_int_gt(left, 1000); /* the other one's */
    ck_assert(fake.background);
}
END_TEST

START_TEST(an_end_is_told_once)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
        ck_assert_int_eq(levers_undo(&host), 0);
        ck_assert(!levers_state(LEVER_DECAY).end_reported);
        levers_mark_reported();
        ck_assert(levers_state(LEVER_DECAY).end_reported);
        ck_assert(!levers_state(LEVER_BACKGROUND).end_reported);
    }
}
END_TEST

START_TEST(background_threads_are_as_they_were)
{
    ck_assert_int_eq(levers_background(&host, true, 60, "ann"), 0);
    ck_assert(fake.background);
    ck_assert_int_eq(levers_background(&host, false, 60, "ann"), 0);
    ck_assert_int_eq(levers_background(&host, true, 60, "ann"), 0);
    ck_assert_int_eq(levers_undo(&host), 0);
    ck_assert(!fake.background);
    ck_assert_uint_eq(fake.switches, 4);
    /* they are on already: nothing changes */
    fake.background = true;
    ck_assert_int_eq(levers_background(&host, true, 60, "ann"), 0);
    ck_assert_int_eq(levers_undo(&host), 0);
    ck_assert(fake.background);
    ck_assert_uint_eq(fake.switches, 4);
    /* the program has switched them itself */
    ck_assert_int_eq(levers_background(&host, false, 60, "ann"), 0);
    fake.background = true;
    ck_assert_int_eq(levers_undo(&host), 0);
    ck_assert(fake.background);
}
END_TEST

START_TEST(a_jemalloc_without_a_lever_says_so)
{
    fake.no_background = fake.no_decay = true;
    ck_assert_int_eq(levers_background(&host, true, 60, "ann"), ENOENT);
    ck_assert_int_eq(levers_decay(&host, 0, 0, 60, "ann"), ENOENT);
    ck_assert(!levers_any());
    ck_assert_int_eq(levers_purge(&host), 0);
    ck_assert_uint_eq(fake.purges, 1);
}
END_TEST

/* There are eight writes: two for new arenas, two for each of three arenas. */
START_TEST(a_failure_half_way_leaves_nothing)
{
    fake.fail_write = EIO;
    fake.fail_at = (unsigned)_i + 1;
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), EIO);
    ck_assert(!levers_any());
    check_as_it_was();
}
END_TEST

/* Arena 1 has the lever's values already. */
START_TEST(a_failure_leaves_alone_what_it_did_not_reach)
{
    fake.fail_write = EIO;
    fake.fail_at = (unsigned)_i + 1;
    ck_assert_int_eq(levers_decay(&host, -1, 77, 60, "ann"), EIO);
    check_as_it_was();
    /* Nor does a value that an earlier lever had set count. */
    ck_assert_int_eq(levers_decay(&host, -1, 77, 60, "ann"), 0);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_as_it_was();
    fake.fail_at = (unsigned)_i + 1;
    ck_assert_int_eq(levers_decay(&host, 5, 6, 60, "ann"), EIO);
    check_as_it_was();
}
END_TEST

START_TEST(a_second_one_that_fails_half_way_ends_with_the_first)
{
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    fake.fail_write = EIO;
    fake.fail_at = (unsigned)_i + 1;
    ck_assert_int_eq(levers_decay(&host, 600, 30, 60, "bob"), EIO);
    ck_assert_str_eq(levers_state(LEVER_DECAY).by, "ann");
    ck_assert_int_eq(levers_undo(&host), 0);
    check_as_it_was();
}
END_TEST

START_TEST(a_third_one_knows_what_the_second_has_left_half_way)
{
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    fake.fail_write = EIO;
    fake.fail_at = (unsigned)_i + 1;
    ck_assert_int_eq(levers_decay(&host, 600, 30, 60, "bob"), EIO);
    ck_assert_int_eq(levers_decay(&host, 700, 40, 60, "cat"), 0);
    ck_assert_int_eq(fake.decay[0][3], 700);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_as_it_was();
}
END_TEST

START_TEST(one_that_cannot_be_put_back_is_tried_again)
{
    ck_assert_int_eq(levers_decay(&host, 500, 20, 60, "ann"), 0);
    fake.fail_write = EAGAIN;
    fake.fail_at = (unsigned)_i + 1;
    ck_assert_int_eq(levers_undo(&host), EAGAIN);
    ck_assert(levers_any());
    ck_assert_int_eq(levers_state(LEVER_DECAY).error, EAGAIN);
    ck_assert_int_le(levers_expire(&host), 1000);
    ck_assert_int_eq(levers_undo(&host), 0);
    check_as_it_was();
}
END_TEST

START_TEST(a_forked_child_has_the_old_values)
{
    struct lever_host watched = host;
    int status;
    pid_t pid;

    watched.watch = fork_watch;
    ck_assert_int_eq(levers_decay(&watched, 500, 20, 60, "ann"), 0);
    pid = fork();
    if (pid == 0) {
        check_as_it_was();
        ck_assert(!levers_any());
        ck_assert_int_eq(levers_expire(&host), -1);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    check_decay(0, 500, 20);
    ck_assert_int_eq(levers_undo(&watched), 0);
    check_as_it_was();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("levers");
    TCase *tc = tcase_create("levers");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, each_arena_gets_the_value_and_its_own_one_back);
    tcase_add_test(tc, a_second_one_keeps_the_first_old_values);
    tcase_add_test(tc, an_arena_made_meanwhile_gets_what_new_ones_had);
    tcase_add_test(tc, what_the_program_sets_itself_is_left_alone);
    tcase_add_test(tc, it_ends_by_itself_at_its_time);
    tcase_add_test(tc, an_end_is_told_once);
    tcase_add_test(tc, background_threads_are_as_they_were);
    tcase_add_test(tc, a_jemalloc_without_a_lever_says_so);
    tcase_add_loop_test(tc, a_failure_half_way_leaves_nothing, 0, 8);
    tcase_add_loop_test(tc, a_failure_leaves_alone_what_it_did_not_reach, 0, 8);
    tcase_add_loop_test(
        tc, a_second_one_that_fails_half_way_ends_with_the_first, 0, 8);
    tcase_add_loop_test(tc, a_third_one_knows_what_the_second_has_left_half_way,
                        0, 8);
    tcase_add_loop_test(tc, one_that_cannot_be_put_back_is_tried_again, 0, 8);
    tcase_add_test(tc, a_forked_child_has_the_old_values);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
