/* test_peer_call.c - a call whose time is over before it is asked leaves its
 * link to the others: over links that are not there. */
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "peer_pool.h"
#include "suite.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct peer_pool pool;
static const struct peer_request request = {.timeout_ms = 1000};
static unsigned asked, closed, ended;
static enum error_code code;

int
peer_link_ask(struct peer_link *link, const struct peer_request *what,
              unsigned timeout_ms, struct error *err)
{
    (void)what;
    (void)err;
    ck_assert_uint_gt(timeout_ms, 0);
    link->state = PEER_LINK_ASKING;
    asked++;
    return 0;
}

void
peer_link_own(struct peer_link *link, const struct peer_link_events *events,
              void *arg)
{
    link->events = events;
    link->arg = arg;
}

void
peer_link_rest(struct peer_link *link, uint64_t timeout_ms)
{
    (void)timeout_ms;
    ck_assert_int_eq(link->state, PEER_LINK_READY);
}

bool
peer_link_reusable(const struct peer_link *link)
{
    return link->state == PEER_LINK_READY;
}

void
peer_link_close(struct peer_link *link)
{
    mem_free(link);
    closed++;
}

static void
on_ended(void *arg, const struct error *error)
{
    (void)arg;
    ended++;
    code = error->code;
}

static const struct peer_call_events events = {.ended = on_ended};

START_TEST(a_late_call_leaves_its_link_to_the_others)
{
    const struct peer_endpoint endpoint = {.id = 7, .port = 9036};
    struct peer_call calls[3];
    struct peer_link *link = mem_zalloc(1, sizeof(*link));
    struct error none = {0};
    struct peer *peer;

    pool.lock = &lock;
    pool.links_max = 1;
    pool.open = 1;
    peer = peer_new(&pool, &endpoint, PEER_BACKEND, false, &none);
    peer->links = 1;
    link->state = PEER_LINK_READY;
    peer_keep_idle(peer, link);

    peer_call_start(&calls[0], peer, &request, 0, &events, NULL);
    ck_assert_uint_eq(ended, 1);
    ck_assert_int_eq(code, ER_QUERY_TIMEOUT);
    ck_assert_uint_eq(peer->idle_count, 1);

    /* The second is late once the link is free, the third has time. */
    peer_call_start(&calls[0], peer, &request, UINT64_MAX, &events, NULL);
    peer_call_start(&calls[1], peer, &request, 0, &events, NULL);
    peer_call_start(&calls[2], peer, &request, UINT64_MAX, &events, NULL);
    ck_assert_uint_eq(asked, 1);
    link->state = PEER_LINK_READY;
    link->events->answered(link, &none);
    ck_assert_uint_eq(ended, 3);
    ck_assert_uint_eq(asked, 2);
    ck_assert_ptr_eq(calls[2].link, link);
    ck_assert_uint_eq(closed, 0);

    peer_call_cancel(&calls[2], NULL);
    ck_assert_uint_eq(closed, 1);
    peer_unref(peer);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_call");
    TCase *tc = tcase_create("peer_call");

    tcase_add_test(tc, a_late_call_leaves_its_link_to_the_others);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
