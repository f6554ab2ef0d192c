/* test_fanout.c - what other threads have of the loop's questions. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "cluster.h"
#include "etcd_nodes.h"
#include "memory.h"
#include "peer_fixture.h"
#include "suite.h"
#include "notifications.h"

enum {
    SELF = 1, /* no process listens on its socket */
    CLOSED,   /* at a port that is taken, and refuses */
    SILENT,   /* at one that accepts, and says nothing */
    UNKNOWN = 9,
    ASKERS = 4,
    ROUNDS = 50,
    CONNECT_MS = 1000,
    LINKS_MAX = 16
};

static uv_loop_t loop;
static struct notification_queue queue;
static struct cluster *cluster;
static const struct sql_peers *peers;
static uv_async_t over;
static uint16_t closed_port;
static int closed, silent;

/* A port of 127.0.0.1, which is nobody else's while *fd is open. */
static uint16_t
take_port(int *fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(*fd, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

static void
on_over(uv_async_t *async)
{
    uv_close((uv_handle_t *)async, NULL);
    cluster_stop(cluster);
    notification_queue_close(&queue);
}

static void
set_up(void)
{
    struct cluster_options options = {.socket = "/nonexistent/socket",
                                      .connect_timeout_ms = CONNECT_MS,
                                      .links_max = LINKS_MAX};
    struct member items[] = {
        {.id = SELF, .address = "127.0.0.1"},
        {.id = CLOSED, .address = "127.0.0.1"},
        {.id = SILENT, .address = "127.0.0.1", .role = PEER_COMPUTE_NODE}};
    struct error err;

    closed_port = items[1].port = take_port(&closed);
    items[2].port = take_port(&silent);
    ck_assert_int_eq(listen(silent, 1000), 0);
    options.identity = peer_node("blue", "", SELF);
    options.members = members_new(SELF, items, 3, &err);
    ck_assert_ptr_nonnull(options.members);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(notification_queue_init(&queue, &loop, &err), 0);
    ck_assert_int_eq(uv_async_init(&loop, &over, on_over), 0);
    cluster = cluster_start(&loop, &queue, &options, &err);
    ck_assert_ptr_nonnull(cluster);
    peers = cluster_peers(cluster);
}

static void
tear_down(void)
{
    cluster_free(cluster);
    notification_queue_fini(&queue);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    close(closed);
    close(silent);
}

/* What asks, on a thread of its own */

struct asker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool wake;
    unsigned seed;
    struct peer_end ends[8];
};

static void
wake(void *arg)
{
    struct asker *a = arg;

    pthread_mutex_lock(&a->lock);
    a->wake = true;
    pthread_cond_signal(&a->woken);
    pthread_mutex_unlock(&a->lock);
}

static void
wait_for_wake(struct asker *a)
{
    pthread_mutex_lock(&a->lock);
    while (!a->wake)
        pthread_cond_wait(&a->woken, &a->lock);
    a->wake = false;
    pthread_mutex_unlock(&a->lock);
}

static struct peer_fanout *
ask_with(struct asker *a, const uint64_t *ids, size_t count,
         unsigned timeout_ms, unsigned parallel, bool stops)
{
    static const struct sql_identity who = {.user = "root",
                                            .privileges = PRIVILEGE_ALL};
    struct peer_request request = {.ids = ids,
                                   .id_count = count,
                                   .text = {"System.print(1)", 15},
                                   .column_count = 1,
                                   .timeout_ms = timeout_ms,
                                   .parallel = parallel,
                                   .stops = stops,
                                   .node_bytes_max = 1000,
                                   .bytes_max = 1000,
                                   .caller = &who,
                                   .waker = {wake, a}};
    struct peer_fanout *fanout;
    struct error err;

    fanout = peers->ask(peers->arg, &request, &err);
    ck_assert_ptr_nonnull(fanout);
    return fanout;
}

static struct peer_fanout *
ask(struct asker *a, const uint64_t *ids, size_t count, unsigned timeout_ms,
    unsigned parallel)
{
    return ask_with(a, ids, count, timeout_ms, parallel, false);
}

/* Until all have ended; each does once. */
static void
take_all(struct asker *a, struct peer_fanout *fanout, size_t count)
{
    struct peer_block *block;
    struct peer_end end;
    bool ended[8] = {false};

    for (;;) {
        enum peer_event event = peers->take(fanout, &block, &end);

        ck_assert_int_ne(event, PEER_BLOCK);
        if (event == PEER_ALL_ENDED)
            break;
        if (event == PEER_NOTHING_YET) {
            wait_for_wake(a);
            continue;
        }
        ck_assert_uint_lt(end.id_index, count);
        ck_assert(!ended[end.id_index]);
        ended[end.id_index] = true;
        a->ends[end.id_index] = end;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert(ended[i]);
}

static const uint64_t all[] = {SELF, CLOSED, SILENT, UNKNOWN};

static void *
ask_all(void *arg)
{
    struct asker *a = arg;
    struct peer_fanout *fanout = ask(a, all, 4, 60000, a->seed);

    take_all(a, fanout, 4);
    peers->release(fanout);
    uv_async_send(&over);
    return NULL;
}

static void *
ask_and_stop(void *arg)
{
    struct asker *a = arg;
    struct peer_fanout *fanout = ask_with(a, all, 4, 5000, a->seed, true);

    take_all(a, fanout, 4);
    peers->release(fanout);
    uv_async_send(&over);
    return NULL;
}

static void *
ask_late(void *arg)
{
    struct asker *a = arg;
    struct peer_fanout *fanout = ask(a, all, 4, 50, 0);

    take_all(a, fanout, 4);
    peers->release(fanout);
    uv_async_send(&over);
    return NULL;
}

/* Gives up at any moment. */
static void *
ask_and_leave(void *arg)
{
    static atomic_int left = ASKERS;
    struct asker *a = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned chance = rand_r(&a->seed);
        struct peer_fanout *fanout =
            ask(a, all, 4, 1 + chance % 300, chance / 300 % 3);

        if (chance % 7 == 0)
            take_all(a, fanout, 4);
        else
            usleep(chance % 2000);
        peers->release(fanout);
    }
    if (atomic_fetch_sub(&left, 1) == 1)
        uv_async_send(&over);
    return NULL;
}

static void *
ask_until_the_end(void *arg)
{
    struct asker *a = arg;
    struct peer_fanout *fanout = ask(a, all, 4, 60000, 1);

    uv_async_send(&over);
    take_all(a, fanout, 4);
    peers->release(fanout);
    return NULL;
}

static void
run(struct asker *askers, size_t count, void *(*function)(void *))
{
    for (size_t i = 0; i < count; i++) {
        struct asker *a = &askers[i];

        pthread_mutex_init(&a->lock, NULL);
        pthread_cond_init(&a->woken, NULL);
        ck_assert_int_eq(pthread_create(&a->thread, NULL, function, a), 0);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < count; i++)
        pthread_join(askers[i].thread, NULL);
}

START_TEST(every_node_has_its_end)
{
    struct asker a = {.seed = (unsigned)_i};
    struct peer_row rows[4];
    char expected[100];

    run(&a, 1, ask_all);
    ck_assert_str_eq(a.ends[0].error.text, "submit failed for node 1: "
                                           "No such file or directory");
    snprintf(expected, sizeof(expected),
             "submit failed for 127.0.0.1:%u: Connection refused", closed_port);
    ck_assert_str_eq(a.ends[1].error.text, expected);
    ck_assert_ptr_nonnull(
        strstr(a.ends[2].error.text,
               "it took the connection, and did not end the login "
               "within 2000 ms: it hangs, is too busy, or is no heapwired"));
    ck_assert_str_eq(a.ends[3].error.text, "node not found");
    ck_assert_uint_gt(a.ends[2].elapsed_us, 2 * CONNECT_MS * 900);

    ck_assert_uint_eq(peers->list(peers->arg, rows, 4), 3);
    ck_assert(rows[0].self && !rows[1].self);
    ck_assert(rows[1].known && !rows[1].alive && rows[1].since_ms > 0);
    ck_assert_str_eq(rows[1].last_error, expected);
    ck_assert_int_eq(rows[2].role, PEER_COMPUTE_NODE);
}
END_TEST

/* One at a time, or two: those that had begun by then have their own end. */
START_TEST(after_a_failure_no_other_one_is_asked)
{
    static const char not_asked[] = "not asked: node ";
    struct asker a = {.seed = (unsigned)_i};

    run(&a, 1, ask_and_stop);
    ck_assert_str_eq(a.ends[0].error.text, "submit failed for node 1: "
                                           "No such file or directory");
    for (int i = _i; i < 4; i++)
        ck_assert_int_eq(
            strncmp(a.ends[i].error.text, not_asked, sizeof(not_asked) - 1), 0);
}
END_TEST

START_TEST(what_is_late_has_failed)
{
    struct asker a = {.seed = 0};

    run(&a, 1, ask_late);
    ck_assert_str_eq(a.ends[2].error.text, "timeout after 0.05s");
    ck_assert_str_eq(a.ends[3].error.text, "node not found");
}
END_TEST

START_TEST(a_caller_may_leave_at_any_moment)
{
    struct asker askers[ASKERS];

    memset(askers, 0, sizeof(askers));
    for (unsigned i = 0; i < ASKERS; i++)
        askers[i].seed = i;
    run(askers, ASKERS, ask_and_leave);
}
END_TEST

START_TEST(a_stop_ends_what_was_asked)
{
    struct peer_request request = {0};
    struct asker a = {.seed = 0};
    struct sql_identity who = {.user = "root"};
    struct error err;

    run(&a, 1, ask_until_the_end);
    ck_assert_uint_ne(a.ends[0].error.code, 0);
    ck_assert_uint_eq(a.ends[2].error.code, ER_SHUTDOWN);
    request.ids = all;
    request.id_count = request.column_count = 1;
    request.text = (struct span){"x", 1};
    request.caller = &who;
    ck_assert_ptr_null(peers->ask(peers->arg, &request, &err));
    ck_assert_uint_eq(err.code, ER_SHUTDOWN);
}
END_TEST

START_TEST(what_cannot_be_asked_is_refused)
{
    struct peer_request request = {.ids = all, .id_count = 0};
    struct error err;

    ck_assert_ptr_null(peers->ask(peers->arg, &request, &err));
    ck_assert_uint_ne(err.code, 0);
    request.id_count = 1;
    request.column_count = PEER_COLUMNS_MAX + 1;
    ck_assert_ptr_null(peers->ask(peers->arg, &request, &err));
    uv_async_send(&over);
    uv_run(&loop, UV_RUN_DEFAULT);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("fanout");
    TCase *tcase = tcase_create("fanout");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, every_node_has_its_end, 0, 3);
    tcase_add_loop_test(tcase, after_a_failure_no_other_one_is_asked, 1, 3);
    tcase_add_test(tcase, what_is_late_has_failed);
    tcase_add_test(tcase, a_caller_may_leave_at_any_moment);
    tcase_add_test(tcase, a_stop_ends_what_was_asked);
    tcase_add_test(tcase, what_cannot_be_asked_is_refused);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
