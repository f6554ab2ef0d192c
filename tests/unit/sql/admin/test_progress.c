/*
 * test_progress.c - one thread looks at how far a statement is while another
 * one steps it; with the real controller and a scripted agent.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "cursor.h"
#include "loopback_peers.h"
#include "scripted_agent.h"
#include "sql.h"
#include "suite.h"
#include "view_cache.h"

enum { STATEMENTS = 50 };

static struct agent agent;
static struct sql_node node = {.id = 10001};
static struct sql_peers peers;

/* The state that the looking thread reads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct await *current;
static bool stop;
static unsigned looks, seen;

static void *
look(void *arg)
{
    struct progress progress;
    bool go_on = true;

    (void)arg;
    while (go_on) {
        pthread_mutex_lock(&lock);
        if (current && await_progress(current, &progress)) {
            ck_assert_uint_ge(progress.stage, 1);
            ck_assert_uint_le(progress.stage, progress.stages);
            ck_assert_uint_eq(progress.stages, 4);
            ck_assert_uint_gt(strlen(progress.text), 0);
            seen++;
        }
        looks++;
        go_on = !stop;
        pthread_mutex_unlock(&lock);
        usleep(20); /* a mutex is not fair */
    }
    return NULL;
}

static void
set_current(struct await *await)
{
    pthread_mutex_lock(&lock);
    current = await;
    pthread_mutex_unlock(&lock);
}

static bool
was_seen(void)
{
    bool any;

    pthread_mutex_lock(&lock);
    any = seen > 0;
    pthread_mutex_unlock(&lock);
    return any;
}

static void
run(struct sql_session *session, const char *text)
{
    struct span span = {text, strlen(text)};
    struct value values[CURSOR_BATCH];
    struct rows rows = {values, 0, CURSOR_BATCH};
    struct error err = {0};
    struct await await;
    struct cursor *cursor;
    enum step step;

    await_init(&await, NULL, NULL);
    cursor = sql_open(session, span, NULL, &await, &err);
    ck_assert_msg(cursor != NULL, "%s", err.text);
    set_current(&await);
    while ((step = cursor->ops->step(cursor, &rows, &err)) != STEP_DONE)
        ck_assert_msg(step != STEP_FAIL, "%s", err.text);
    set_current(NULL);
    cursor_free(cursor);
    await_fini(&await);
}

START_TEST(progress_may_be_asked_while_a_statement_steps)
{
    static const struct sql_identity who = {"a", "b", PRIVILEGE_ALL};
    struct sql_session *session;
    struct error err;
    pthread_t looker;

    sql_start();
    agent_start(&agent);
    peers = loopback_peers(&node);
    node.peers = &peers;
    node.controller = start_controller(agent.dir);
    node.views =
        view_cache_start(controller_store(node.controller), VIEW_THREADS, &err);
    ck_assert_ptr_nonnull(node.views);
    wait_for_state(node.controller, NODE_CONNECTED);
    session = sql_session_new(&node, &who, 1);
    ck_assert_int_eq(pthread_create(&looker, NULL, look, NULL), 0);
    /* On a busy machine the other thread may not have looked yet. */
    for (int i = 0; i < STATEMENTS || (!was_seen() && i < 100 * STATEMENTS);
         i++)
        run(session, "ADMIN EXECUTE ON 10001 'System.print("
                     "HeapProf.getInstance().dump_dot_snapshot())'");
    pthread_mutex_lock(&lock);
    stop = true;
    pthread_mutex_unlock(&lock);
    pthread_join(looker, NULL);
    ck_assert_uint_gt(looks, 0);
    ck_assert_uint_gt(seen, 0);
    sql_session_free(session);
    view_cache_stop(node.views);
    controller_stop(node.controller);
    agent_stop(&agent);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("progress");
    TCase *tc = tcase_create("progress");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, progress_may_be_asked_while_a_statement_steps);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
