/* test_fanout_pauses.c - a slow reader holds the nodes back, and lets them go
 * on: the loop's end of a question, over links that are not there. */
#include <pthread.h>
#include <string.h>
#include <uv.h>

#include "errors.h"
#include "fanout.h"
#include "memory.h"
#include "suite.h"

enum { NODES = 2, LARGE = PEER_BLOCK_BYTES };

static const struct span few = {"x", 1};
static uv_loop_t loop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fanout_home home;
static struct peer nodes[NODES];

/* What would be links: each call, and how often it was to go on. */
static struct call {
    const struct peer_call_events *events;
    void *arg;
    unsigned resumed;
} calls[NODES];

void
peer_call_start(struct peer_call *call, struct peer *peer,
                const struct peer_request *request, uint64_t deadline_ms,
                const struct peer_call_events *events, void *arg)
{
    (void)request;
    (void)deadline_ms;
    call->peer = peer;
    calls[peer - nodes] = (struct call){events, arg, 0};
}

void
peer_call_resume(struct peer_call *call)
{
    calls[call->peer - nodes].resumed++;
}

void
peer_call_cancel(struct peer_call *call, const struct error *late)
{
    (void)call;
    (void)late;
}

void
peer_note(struct peer *peer, const struct peer_link *link,
          const struct error *error)
{
    (void)peer;
    (void)link;
    (void)error;
}

static struct peer *
find(struct fanout_home *of, uint64_t id)
{
    (void)of;
    return &nodes[id - 1];
}

static void
wake_loop(struct fanout_home *of)
{
    (void)of;
}

static void
wake(void *arg)
{
    (void)arg;
}

static struct peer_fanout *
ask(struct span text)
{
    static const uint64_t ids[NODES] = {1, 2};
    static const struct sql_identity who = {.user = "root"};
    const struct peer_request request = {.ids = ids,
                                         .id_count = NODES,
                                         .text = text,
                                         .column_count = 1,
                                         .timeout_ms = 60000,
                                         .node_bytes_max = 64 << 20,
                                         .bytes_max = 64 << 20,
                                         .caller = &who,
                                         .waker = {wake, NULL}};
    struct peer_fanout *fanout;
    struct error err;

    ck_assert_int_eq(uv_loop_init(&loop), 0);
    memset(calls, 0, sizeof(calls));
    home = (struct fanout_home){.loop = &loop,
                                .lock = &lock,
                                .seed = 1,
                                .wake = wake_loop,
                                .find = find};
    peer_gather_init(&home.gather);
    fanout = fanout_ask(&home, &request, &err);
    ck_assert_ptr_nonnull(fanout);
    fanout_work(&home);
    return fanout;
}

static void
leave(struct peer_fanout *fanout)
{
    fanout_release(fanout);
    fanout_work(&home);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    peer_gather_fini(&home.gather);
}

/* Whether the node is to go on. */
static bool
answer(const struct call *call, size_t size)
{
    static const char bytes[LARGE];
    const struct span cell = {bytes, size};
    bool more;

    call->events->row(call->arg, &cell);
    more = call->events->wants(call->arg);
    call->events->quiet(call->arg);
    return more;
}

static bool
take_one(struct peer_fanout *fanout)
{
    struct peer_block *block = NULL;
    struct peer_end end;

    if (fanout_take(fanout, &block, &end) != PEER_BLOCK)
        return false;
    mem_free(block);
    return true;
}

START_TEST(nodes_wait_while_too_much_is_unread)
{
    struct peer_fanout *fanout = ask(few);
    size_t rows = 1;

    while (answer(&calls[0], LARGE))
        rows++;
    ck_assert_uint_ge(rows * LARGE, PEER_UNREAD_MAX - LARGE);
    ck_assert_uint_le(rows * LARGE, PEER_UNREAD_MAX + LARGE);
    ck_assert(!calls[1].events->wants(calls[1].arg));
    while (take_one(fanout))
        continue;
    fanout_work(&home);
    ck_assert(calls[0].events->wants(calls[0].arg));
    ck_assert_uint_eq(calls[0].resumed, 1);
    leave(fanout);
}
END_TEST

/* One of them was in the middle of a row when the others had to wait. */
START_TEST(a_waiting_reader_goes_on_after_anothers_row)
{
    struct peer_fanout *fanout = ask(few);

    while (answer(&calls[0], LARGE))
        continue;
    ck_assert(take_one(fanout));
    ck_assert(!answer(&calls[1], 10));
    while (take_one(fanout))
        continue;
    fanout_work(&home);
    ck_assert_uint_eq(calls[0].resumed, 1);
    ck_assert_uint_eq(calls[1].resumed, 1);
    ck_assert(calls[0].events->wants(calls[0].arg));
    leave(fanout);
}
END_TEST

START_TEST(long_questions_go_to_some_at_a_time)
{
    static const struct error none;
    static char text[FANOUT_TEXT_MAX];
    struct peer_fanout *fanout =
        ask((struct span){text, FANOUT_SENT_MAX / 4 - 1});

    ck_assert_ptr_nonnull(calls[1].events);
    leave(fanout);
    fanout = ask((struct span){text, FANOUT_SENT_MAX / 4});
    ck_assert_ptr_nonnull(calls[0].events);
    ck_assert_ptr_null(calls[1].events);
    calls[0].events->ended(calls[0].arg, &none);
    ck_assert_ptr_nonnull(calls[1].events);
    leave(fanout);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("fanout_pauses");
    TCase *tcase = tcase_create("fanout_pauses");

    tcase_add_test(tcase, nodes_wait_while_too_much_is_unread);
    tcase_add_test(tcase, a_waiting_reader_goes_on_after_anothers_row);
    tcase_add_test(tcase, long_questions_go_to_some_at_a_time);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
