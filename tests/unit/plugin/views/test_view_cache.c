/*
 * test_view_cache.c - views: computed once for all requests, kept, cancelled.
 *
 * With forms of our own, over a store in memory.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "poll_until.h"
#include "profile_fixture.h"
#include "snapshot.h"
#include "store.h"
#include "suite.h"
#include "view.h"
#include "view_cache.h"

static struct store *store;
static struct view_cache *cache;
static struct error err;
static sem_t woken;
static atomic_uint renders, cancels;
static atomic_bool hold; /* the slow form ends once it is false */

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0}, {0x2001, "grow", false, NULL, 0}, {0}};

static void
wake(void *arg)
{
    sem_post(arg);
}

static const struct waker waker = {wake, &woken};

/* Shows what it was asked for. */
static int
render_echo(const struct profile *profile, const struct view_options *options,
            struct buffer *out, struct error *why)
{
    (void)why;
    renders++;
    buffer_format(out, "%s %.0f %u %s", profile->difference ? "diff" : "all",
                  profile->bytes, options->nodecount,
                  options->focus ? options->focus : "-");
    return 0;
}

static int
render_slowly(const struct profile *profile, const struct view_options *options,
              struct buffer *out, struct error *why)
{
    renders++;
    while (hold) {
        if (*options->cancelled) {
            error_set(why, ER_QUERY_INTERRUPTED, "cancelled");
            cancels++;
            return -1;
        }
        poll_nap();
    }
    return render_echo(profile, options, out, why);
}

static int
render_large(const struct profile *profile, const struct view_options *options,
             struct buffer *out, struct error *why)
{
    (void)profile;
    (void)why;
    renders++;
    for (uint32_t i = 0; i < options->nodecount; i++) {
        char *room = buffer_reserve(out, 1 << 20);

        if (room) {
            memset(room, ' ', 1 << 20);
            buffer_claim(out, 1 << 20);
        }
    }
    return 0;
}

static int
render_nothing(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *why)
{
    (void)profile;
    (void)options;
    (void)out;
    renders++;
    error_set(why, ER_UNKNOWN, "it cannot be drawn");
    return -1;
}

static const struct view_form echo = {"echo", .takes_options = true,
                                      .render = render_echo};
static const struct view_form slow = {"slow", .takes_options = true,
                                      .render = render_slowly};
static const struct view_form large = {
    "large", .binary = true, .takes_options = true, .render = render_large};
static const struct view_form fails = {"fails", .takes_options = true,
                                       .render = render_nothing};
static const struct view_form plain = {"plain", .render = render_echo};

/* A new snapshot, of so many bytes. */
static struct snapshot *
make(const char *name, unsigned bytes)
{
    struct snapshot *snapshot = snapshot_new();
    char text[200];

    snprintf(text, sizeof(text),
             "heap_v2/1\n@ 0x1000 0x2001\nt*: 1: %u [0: 0]\n", bytes);
    snprintf(snapshot->name, sizeof(snapshot->name), "%s", name);
    snapshot->hello.pid = 4711;
    snapshot->profile = fixture_profile(text, names, NULL);
    return snapshot;
}

static void
keep(const char *name, unsigned bytes)
{
    struct snapshot *snapshot = make(name, bytes);

    ck_assert_msg(store_add(store, snapshot, &err) == 0, "%s", err.text);
    snapshot_unref(snapshot);
}

static void
start(unsigned threads)
{
    cache = view_cache_start(store, threads, &err);
    ck_assert_ptr_nonnull(cache);
}

static void
set_up(void)
{
    memset(&err, 0, sizeof(err));
    sem_init(&woken, 0, 0);
    renders = cancels = 0;
    hold = false;
    store = store_open(&store_defaults, NULL, &err);
    ck_assert_ptr_nonnull(store);
    keep("a", 1000);
    keep("b", 3000);
}

static void
tear_down(void)
{
    view_cache_stop(cache);
    store_close(store);
    sem_destroy(&woken);
}

static struct seat *
ask(const struct view_form *form, const char *name)
{
    struct view_request request = {.name = name, .form = form};

    return view_cache_submit(cache, &request, waker, &err);
}

/* Waits; NULL with err. */
static struct view *
await(struct seat *seat)
{
    struct view *view = NULL;

    ck_assert_msg(seat != NULL, "%s", err.text);
    while (view_cache_poll(seat, &view, &err) == FLIGHT_RUNS)
        sem_wait(&woken);
    flight_leave(seat);
    return view;
}

static void
expect(struct view *view, const char *text)
{
    ck_assert_msg(view != NULL, "%s", err.text);
    ck_assert_str_eq(view->bytes.data, text);
    view_unref(view);
}

static struct view_counts
count(void)
{
    struct view_counts counts;

    view_cache_count(cache, &counts);
    return counts;
}

static void
wait_until(atomic_uint *counter, unsigned value)
{
    POLL_UNTIL(*counter >= value);
}

/* ---- keeping ---- */

START_TEST(a_view_is_computed_once)
{
    start(1);
    for (int i = 0; i < 3; i++)
        expect(await(ask(&echo, "a")), "all 1000 80 -");
    ck_assert_uint_eq(renders, 1);
    ck_assert_uint_eq(count().rendered, 1);
    ck_assert_uint_eq(count().cached, 2);
    ck_assert_uint_eq(count().views, 1);
}
END_TEST

/* Whatever a view depends on makes it another one. */
START_TEST(other_options_are_other_views)
{
    struct view_options all[13];
    const size_t several = sizeof(all) / sizeof(all[0]);

    for (size_t i = 0; i < several; i++)
        all[i] = view_defaults;
    all[1].measure = MEASURE_INUSE_OBJECTS;
    all[2].granularity = GRANULARITY_LINES;
    all[3].nodecount = 81;
    all[4].nodefraction = .1;
    all[5].edgefraction = .1;
    all[6].maxdegree = 1;
    all[7].allocator_frames = true;
    all[8].show_bytes = true;
    all[9].by_growth = true;
    all[10].focus = "x";
    all[11].ignore = "x";
    all[12].focus = "";
    start(0);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < several; i++) {
            struct view_request request = {
                .name = "a", .form = &echo, .options = &all[i]};

            view_unref(await(view_cache_submit(cache, &request, waker, &err)));
        }
    ck_assert_uint_eq(renders, several);
    ck_assert_uint_eq(count().views, several);
    expect(await(ask(&plain, "a")), "all 1000 80 -");
    expect(await(ask(&echo, "b")), "all 3000 80 -");
    ck_assert_uint_eq(renders, several + 2);
    view_cache_set_wrappers(cache, "my_malloc");
    view_unref(await(ask(&echo, "a")));
    view_unref(await(ask(&echo, "a")));
    ck_assert_uint_eq(renders, several + 3);
    view_cache_set_wrappers(cache, "");
    view_unref(await(ask(&echo, "a")));
    ck_assert_uint_eq(renders, several + 3);
}
END_TEST

START_TEST(a_form_without_options_does_not_look_at_them)
{
    struct view_options options = view_defaults;
    struct view_request request = {
        .name = "a", .form = &plain, .options = &options};

    start(0);
    view_unref(await(view_cache_submit(cache, &request, waker, &err)));
    options.nodecount = 3;
    view_unref(await(view_cache_submit(cache, &request, waker, &err)));
    ck_assert_uint_eq(renders, 1);
}
END_TEST

START_TEST(a_name_may_come_to_mean_another_snapshot)
{
    start(1);
    expect(await(ask(&echo, "a")), "all 1000 80 -");
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    ck_assert_ptr_null(ask(&echo, "a"));
    ck_assert_ptr_nonnull(strstr(err.text, "no snapshot named 'a'"));
    keep("a", 5000);
    expect(await(ask(&echo, "a")), "all 5000 80 -");
    ck_assert_uint_eq(renders, 2);
}
END_TEST

START_TEST(what_is_not_kept_is_not_cached)
{
    struct snapshot *snapshot = make("now", 700);
    struct view_request request = {.snapshot = snapshot, .form = &echo};

    start(1);
    for (int i = 0; i < 2; i++)
        expect(await(view_cache_submit(cache, &request, waker, &err)),
               "all 700 80 -");
    ck_assert_uint_eq(renders, 2);
    ck_assert_uint_eq(count().views, 0);
    ck_assert_int_eq(snapshot->references, 1);
    snapshot_unref(snapshot);
}
END_TEST

START_TEST(the_least_used_views_go_first)
{
    struct view_options options = view_defaults;
    struct view_request request = {
        .name = "a", .form = &large, .options = &options};

    start(0);
    view_unref(await(ask(&echo, "a")));
    for (uint32_t i = 1; i <= 12; i++) { /* 78 MiB */
        options.nodecount = i;
        view_unref(await(view_cache_submit(cache, &request, waker, &err)));
        view_unref(await(ask(&echo, "a")));
    }
    ck_assert_uint_eq(renders, 13);
    ck_assert_uint_le(count().bytes, VIEW_KEPT_BYTES_MAX);
    ck_assert_uint_gt(count().bytes, VIEW_KEPT_BYTES_MAX / 2);
    options.nodecount = 1;
    view_unref(await(view_cache_submit(cache, &request, waker, &err)));
    ck_assert_uint_eq(renders, 14);
    options.nodecount = 40; /* too large to be kept */
    view_unref(await(view_cache_submit(cache, &request, waker, &err)));
    view_unref(await(view_cache_submit(cache, &request, waker, &err)));
    ck_assert_uint_eq(renders, 16);
    options.nodecount = 65; /* too large */
    ck_assert_ptr_null(await(view_cache_submit(cache, &request, waker, &err)));
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
}
END_TEST

START_TEST(a_failure_is_not_kept)
{
    start(1);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(await(ask(&fails, "a")));
        ck_assert_str_eq(err.text, "it cannot be drawn");
    }
    ck_assert_uint_eq(renders, 2);
    ck_assert_uint_eq(count().rendered, 0);
}
END_TEST

START_TEST(a_snapshot_is_exported_as_a_file)
{
    struct view *view;

    start(1);
    view = await(ask(NULL, "a"));
    ck_assert_ptr_nonnull(view);
    ck_assert_int_eq(memcmp(view->bytes.data, "HWSNAP\r\n", 8), 0);
    view_unref(view);
}
END_TEST

/* ---- differences ---- */

START_TEST(differences_are_views_too)
{
    struct view_request request = {.name = "b", .base = "a", .form = &echo};

    start(1);
    for (int i = 0; i < 2; i++)
        expect(await(view_cache_submit(cache, &request, waker, &err)),
               "diff 2000 80 -");
    ck_assert_uint_eq(renders, 1);
    request = (struct view_request){.name = "a", .base = "b", .form = &echo};
    expect(await(view_cache_submit(cache, &request, waker, &err)),
           "diff -2000 80 -");
    request.base = "c";
    ck_assert_ptr_null(view_cache_submit(cache, &request, waker, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "no snapshot named 'c'"));
}
END_TEST

START_TEST(what_cannot_be_compared_is_when_forced)
{
    struct snapshot *other = make("c", 9000);
    struct view_request request = {.name = "c", .base = "a", .form = &echo};

    other->hello.pid = 4712;
    ck_assert_int_eq(store_add(store, other, &err), 0);
    snapshot_unref(other);
    start(1);
    ck_assert_ptr_null(await(view_cache_submit(cache, &request, waker, &err)));
    ck_assert_ptr_nonnull(strstr(err.text, "different processes"));
    ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
    request.force = true;
    expect(await(view_cache_submit(cache, &request, waker, &err)),
           "diff 8000 80 -");
}
END_TEST

/* ---- sharing ---- */

START_TEST(equal_requests_share_one_computation)
{
    struct seat *seats[5];

    start(VIEW_THREADS);
    hold = true;
    for (int i = 0; i < 5; i++)
        seats[i] = ask(&slow, "a");
    wait_until(&renders, 1);
    hold = false;
    for (int i = 0; i < 5; i++)
        expect(await(seats[i]), "all 1000 80 -");
    ck_assert_uint_eq(count().rendered, 1);
    ck_assert_uint_eq(count().shared, 4);
}
END_TEST

START_TEST(one_that_goes_leaves_the_work_to_the_others)
{
    struct seat *first, *second;

    start(1);
    hold = true;
    first = ask(&slow, "a");
    second = ask(&slow, "a");
    wait_until(&renders, 1);
    flight_leave(first);
    usleep(10000); /* it would be cancelled meanwhile */
    ck_assert_uint_eq(cancels, 0);
    hold = false;
    expect(await(second), "all 1000 80 -");
    ck_assert_uint_eq(count().rendered, 1);
}
END_TEST

START_TEST(the_last_one_that_goes_cancels_it)
{
    struct seat *seats[3];

    start(1);
    hold = true;
    for (int i = 0; i < 3; i++)
        seats[i] = ask(&slow, "a");
    wait_until(&renders, 1);
    for (int i = 0; i < 3; i++)
        flight_leave(seats[i]);
    wait_until(&cancels, 1);
    ck_assert_uint_eq(count().rendered, 0);
}
END_TEST

/* A later request does not see an earlier cancellation. */
START_TEST(no_request_joins_a_cancelled_job)
{
    struct seat *first, *second;

    start(1);
    hold = true;
    first = ask(&slow, "a");
    wait_until(&renders, 1);
    flight_leave(first);
    second = ask(&slow, "a");
    wait_until(&renders, 2);
    hold = false;
    expect(await(second), "all 1000 80 -");
    ck_assert_uint_eq(count().shared, 0);
}
END_TEST

START_TEST(what_waits_for_its_turn_can_be_given_up)
{
    struct seat *first, *second, *third;
    struct progress progress;

    start(1);
    hold = true;
    first = ask(&slow, "a");
    wait_until(&renders, 1);
    second = ask(&echo, "b");
    third = ask(&echo, "a");
    ck_assert(flight_progress(first, &progress));
    ck_assert_str_eq(progress.text, "Rendering");
    ck_assert_uint_eq(progress.stage, 2);
    ck_assert_uint_eq(progress.stages, 2);
    ck_assert(flight_progress(second, &progress));
    ck_assert_str_eq(progress.text, "Waiting to be rendered");
    flight_leave(second);
    hold = false;
    expect(await(third), "all 1000 80 -");
    expect(await(first), "all 1000 80 -");
    ck_assert_uint_eq(renders, 3); /* the slow one, twice counted, and one */
}
END_TEST

START_TEST(no_more_than_so_many_wait)
{
    struct view_options options = view_defaults;
    struct view_request request = {
        .name = "a", .form = &slow, .options = &options};
    struct seat *seats[VIEW_JOBS_MAX];
    char owner[8];

    start(1);
    hold = true;
    for (uint32_t i = 0; i < VIEW_JOBS_MAX; i++) {
        snprintf(owner, sizeof(owner), "u%u", i);
        request.owner = owner;
        options.nodecount = i + 1;
        seats[i] = view_cache_submit(cache, &request, waker, &err);
        ck_assert_ptr_nonnull(seats[i]);
    }
    request.owner = "late";
    options.nodecount = VIEW_JOBS_MAX + 1;
    ck_assert_ptr_null(view_cache_submit(cache, &request, waker, &err));
    ck_assert_uint_eq(err.code, ER_OUT_OF_RESOURCES);
    for (uint32_t i = 0; i < VIEW_JOBS_MAX; i++)
        flight_leave(seats[i]);
}
END_TEST

/* 60 MiB each. */
START_TEST(what_is_read_has_a_ceiling)
{
    struct view_options options = view_defaults;
    struct view_request request = {
        .name = "a", .form = &large, .options = &options};
    struct view *views[VIEW_ALIVE_BYTES_MAX / (60 << 20) + 1];
    size_t count = sizeof(views) / sizeof(views[0]);

    start(1);
    options.nodecount = 60;
    for (size_t i = 0; i < count; i++) {
        options.maxdegree = (uint32_t)i + 1;
        views[i] = await(view_cache_submit(cache, &request, waker, &err));
        ck_assert_msg(views[i] != NULL, "%s", err.text);
    }
    options.maxdegree = 100;
    ck_assert_ptr_null(view_cache_submit(cache, &request, waker, &err));
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++)
        view_unref(views[i]);
    ck_assert_uint_eq(view_bytes_alive(), 0);
    view_unref(await(view_cache_submit(cache, &request, waker, &err)));
}
END_TEST

/* ---- owners ---- */

static struct seat *
ask_as(const char *owner, const struct view_form *form, uint32_t nodecount)
{
    struct view_options options = view_defaults;
    struct view_request request = {
        .owner = owner, .name = "a", .form = form, .options = &options};

    options.nodecount = nodecount;
    return view_cache_submit(cache, &request, waker, &err);
}

START_TEST(one_owner_leaves_threads_to_others)
{
    struct seat *ann[VIEW_THREADS];

    start(VIEW_THREADS);
    hold = true;
    for (uint32_t i = 0; i < VIEW_THREADS; i++)
        ann[i] = ask_as("ann", &slow, i + 1);
    wait_until(&renders, VIEW_THREADS / 2);
    usleep(20000); /* one more would begin meanwhile */
    ck_assert_uint_eq(renders, VIEW_THREADS / 2);
    expect(await(ask_as("bob", &echo, 5)), "all 1000 5 -");
    hold = false;
    for (uint32_t i = 0; i < VIEW_THREADS; i++)
        view_unref(await(ann[i]));
    ck_assert_uint_eq(count().rendered, VIEW_THREADS + 1);
}
END_TEST

START_TEST(one_owner_leaves_slots_to_others)
{
    struct seat *ann[VIEW_JOBS_MAX / 2], *bob;

    start(1);
    hold = true;
    for (uint32_t i = 0; i < VIEW_JOBS_MAX / 2; i++) {
        ann[i] = ask_as("ann", &slow, i + 1);
        ck_assert_ptr_nonnull(ann[i]);
    }
    ck_assert_ptr_null(ask_as("ann", &slow, VIEW_JOBS_MAX));
    ck_assert_uint_eq(err.code, ER_USER_LIMIT_REACHED);
    ck_assert_ptr_nonnull(strstr(err.text, "current value: 32"));
    bob = ask_as("bob", &echo, 5);
    ck_assert_msg(bob != NULL, "%s", err.text);
    hold = false;
    expect(await(bob), "all 1000 5 -");
    for (uint32_t i = 0; i < VIEW_JOBS_MAX / 2; i++)
        flight_leave(ann[i]);
}
END_TEST

/* ---- many at once ---- */

static void *
storm(void *arg)
{
    struct waker own = {wake, arg};
    struct view_options options = view_defaults;
    struct view_request request = {.form = &echo, .options = &options};
    struct error why;

    for (unsigned i = 0; i < 500; i++) {
        struct seat *seat;
        struct view *view = NULL;

        request.name = i % 3 ? "a" : "b";
        request.base = i % 5 ? NULL : "a";
        options.nodecount = i % 7 + 1;
        seat = view_cache_submit(cache, &request, own, &why);
        ck_assert_msg(seat != NULL, "%s", why.text);
        if (i % 4 == 0) {
            flight_leave(seat);
            continue;
        }
        while (view_cache_poll(seat, &view, &why) == FLIGHT_RUNS)
            sem_wait(arg);
        ck_assert_ptr_nonnull(view);
        view_unref(view);
        flight_leave(seat);
    }
    return NULL;
}

START_TEST(many_may_ask_at_once)
{
    pthread_t threads[4];
    sem_t semaphores[4];

    start(VIEW_THREADS);
    for (int i = 0; i < 4; i++) {
        sem_init(&semaphores[i], 0, 0);
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, storm, &semaphores[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_le(count().views, 28);
    ck_assert_uint_gt(count().cached, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("view_cache");
    TCase *tc = tcase_create("view_cache");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_view_is_computed_once);
    tcase_add_test(tc, other_options_are_other_views);
    tcase_add_test(tc, a_form_without_options_does_not_look_at_them);
    tcase_add_test(tc, a_name_may_come_to_mean_another_snapshot);
    tcase_add_test(tc, what_is_not_kept_is_not_cached);
    tcase_add_test(tc, the_least_used_views_go_first);
    tcase_add_test(tc, a_failure_is_not_kept);
    tcase_add_test(tc, a_snapshot_is_exported_as_a_file);
    tcase_add_test(tc, differences_are_views_too);
    tcase_add_test(tc, what_cannot_be_compared_is_when_forced);
    tcase_add_test(tc, equal_requests_share_one_computation);
    tcase_add_test(tc, one_that_goes_leaves_the_work_to_the_others);
    tcase_add_test(tc, the_last_one_that_goes_cancels_it);
    tcase_add_test(tc, no_request_joins_a_cancelled_job);
    tcase_add_test(tc, what_waits_for_its_turn_can_be_given_up);
    tcase_add_test(tc, no_more_than_so_many_wait);
    tcase_add_test(tc, what_is_read_has_a_ceiling);
    tcase_add_test(tc, one_owner_leaves_slots_to_others);
    tcase_add_test(tc, one_owner_leaves_threads_to_others);
    tcase_add_test(tc, many_may_ask_at_once);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
