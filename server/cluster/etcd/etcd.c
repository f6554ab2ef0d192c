/*
 * etcd.c - see etcd.h.
 *
 * libcurl waits by itself, so it has a thread of its own.  That thread runs one
 * session after another, each with one endpoint, until something fails; then
 * the next endpoint is tried, and after all of them a pause that doubles.  What
 * a session has learned is copied under the lock, and main is woken.  If etcd
 * is gone, or is back with less than before, the known nodes stay for a while:
 * an outage of etcd must not empty the cluster.
 */
#include "etcd.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <malloc.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "etcd_session.h"
#include "etcd_wire.h"
#include "log.h"
#include "memory.h"
#include "thread.h"

enum {
    BACK_OFF_MS = 250, /* between two rounds; doubles */
    BACK_OFF_MAX_MS = 5000,
    STACK_BYTES = 1 << 20,
    ENDPOINTS_MAX = 8
};

enum text {
    TEXT_ENDPOINTS,
    TEXT_CACERT,
    TEXT_CERT,
    TEXT_KEY,
    TEXT_USER,
    TEXT_CLUSTER,
    TEXTS
};

struct etcd {
    char *texts[TEXTS]; /* of the options */
    struct waker waker;
    pthread_t thread;

    pthread_mutex_t lock; /* guards these three */
    struct member wanted; /* the next self */
    struct etcd_nodes published;
    struct error trouble;

    /* The thread's own. */
    const char *endpoints[ENDPOINTS_MAX];
    size_t endpoint_count, endpoint; /* endpoint: the present one */
    bool lost;                       /* logged, and nothing has worked since */
    uint64_t settles_ms; /* former nodes stay until then; 0: not any more */
    struct etcd_session session;
};

/* ---- libcurl's memory is wiped when it is freed: it holds passwords and
 * tokens ---- */

static void
wipe_free(void *data)
{
    if (data)
        explicit_bzero(data, malloc_usable_size(data));
    free(data);
}

static void *
copy_realloc(void *data, size_t size)
{
    /* realloc() would free the former block unwiped. */
    void *more = malloc(size);
    size_t old = data ? malloc_usable_size(data) : 0;

    if (!more)
        return NULL;
    if (old > 0)
        memcpy(more, data, old < size ? old : size);
    wipe_free(data);
    return more;
}

static void
init_curl(void)
{
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_free, copy_realloc,
                         strdup, calloc);
}

/* ---- what the session found ---- */

/* When etcd is back, perhaps with less than it had, the nodes write themselves
 * again one by one: known ones stay until settles_ms. */
static void
publish_etcd_nodes(struct etcd *e, const struct error *trouble)
{
    static const struct etcd_nodes none;
    struct etcd_nodes copy;
    struct error err;

    if (etcd_nodes_join(&copy, &e->session.nodes,
                        e->settles_ms ? &e->published : &none, &err) != 0) {
        log_fault("etcd: %s", err.text); /* the known nodes stay */
        return;
    }
    pthread_mutex_lock(&e->lock);
    etcd_nodes_fini(&e->published);
    e->published = copy;
    e->trouble = *trouble;
    pthread_mutex_unlock(&e->lock);
    e->waker.wake(e->waker.arg);
}

/* Changes the trouble alone: the session may have only some of the nodes. */
static void
publish_trouble(struct etcd *e, const struct error *trouble)
{
    pthread_mutex_lock(&e->lock);
    e->trouble = *trouble;
    pthread_mutex_unlock(&e->lock);
    e->waker.wake(e->waker.arg);
}

static void
log_etcd_lost(struct etcd *e, const struct error *why)
{
    struct error trouble;

    if (e->lost)
        return;
    e->lost = true;
    error_set(&trouble, ER_UNKNOWN,
              "etcd cannot be reached (%s): the nodes that are known stay",
              why->text);
    log_line("etcd cannot be reached, this node goes on with the nodes that it "
             "knows, and keeps trying: %s",
             why->text);
    publish_trouble(e, &trouble);
}

static void
log_etcd_nodes(struct etcd *e, bool first)
{
    if (first || e->lost)
        log_line("etcd at %s lists %zu nodes of the cluster %s",
                 e->endpoints[e->endpoint], e->session.nodes.count,
                 e->texts[TEXT_CLUSTER]);
    e->lost = false;
}

/* Reads without the lock, since only this thread changes what is published. */
static void
log_missing_nodes(const struct etcd *e)
{
    size_t known = e->published.count, listed = e->session.nodes.count;

    if (e->settles_ms && known > listed)
        log_line("etcd has no entry of %zu nodes that were known before: they "
                 "have %" PRIu64 " ms to come again",
                 known - listed, e->settles_ms - clock_ms());
}

/* ---- a session ---- */

/* Has self changed? */
static bool
apply_wanted_member(struct etcd *e)
{
    bool changed;

    pthread_mutex_lock(&e->lock);
    changed = !member_is_same(&e->wanted, &e->session.self.member);
    e->session.self.member = e->wanted;
    pthread_mutex_unlock(&e->lock);
    return changed;
}

/* Is the time over in which nodes could come again? */
static bool
end_settling_period(struct etcd *e)
{
    bool over = e->settles_ms && clock_ms() >= e->settles_ms;

    if (over)
        e->settles_ms = 0;
    return over;
}

/* Runs until a failure, or until the stop. */
static int
follow_etcd_changes(struct etcd *e, struct error *err)
{
    size_t changes;

    while (!etcd_http_is_woken(e->session.http)) {
        if (etcd_session_step(&e->session, &changes, err) != 0)
            return -1;
        changes += apply_wanted_member(e);
        changes += end_settling_period(e);
        if (changes == 0)
            continue;
        if (etcd_session_keep_own(&e->session, err) != 0)
            return -1;
        publish_etcd_nodes(e, &e->session.conflict);
    }
    return 0;
}

/* delay_ms: the longest pause of the other nodes before they are back.
 * *worked: the session got as far as the watch. */
static int
run_session(struct etcd *e, bool first, unsigned delay_ms, bool *worked,
            struct error *err)
{
    int rc = -1;

    *worked = false;
    (void)apply_wanted_member(e);
    if (etcd_session_open(&e->session, e->endpoints[e->endpoint], err) == 0) {
        *worked = true;
        /* Time for all other nodes to notice that etcd is back, and to write
         * their entries: a lease, and twice their longest pause. */
        if (!first)
            e->settles_ms = clock_ms() + UINT64_C(1000) * e->session.ttl_s +
                            UINT64_C(2) * delay_ms;
        log_etcd_nodes(e, first);
        publish_etcd_nodes(e, &e->session.conflict);
        log_missing_nodes(e);
        rc = follow_etcd_changes(e, err);
    }
    etcd_http_unwatch(e->session.http);
    return rc;
}

/* Waits for half of delay_ms, and for a random part of the other half, so that
 * all nodes do not come back at one moment. */
static void
wait_etcd_backoff(struct etcd *e, unsigned delay_ms)
{
    uint16_t random = 0;
    uint64_t until, now = clock_ms();

    (void)RAND_bytes((unsigned char *)&random, sizeof(random));
    until = now + delay_ms / 2 + random % (delay_ms / 2 + 1);
    while (!etcd_http_is_woken(e->session.http) && (now = clock_ms()) < until)
        etcd_http_wait(e->session.http, (unsigned)(until - now));
}

static void *
run_etcd_thread(void *arg)
{
    struct etcd *e = arg;
    unsigned delay_ms = BACK_OFF_MS;
    bool first = true, worked;
    size_t failed = 0; /* endpoints, in a row */
    struct error err;

    while (!etcd_http_is_woken(e->session.http)) {
        if (run_session(e, first, delay_ms, &worked, &err) == 0)
            break;
        if (worked) {
            first = false;
            failed = 0;
            delay_ms = BACK_OFF_MS;
        }
        e->endpoint = (e->endpoint + 1) % e->endpoint_count;
        if (++failed < e->endpoint_count || etcd_http_is_woken(e->session.http))
            continue;
        log_etcd_lost(e, &err);
        wait_etcd_backoff(e, delay_ms);
        failed = 0;
        delay_ms *= 2;
        if (delay_ms > BACK_OFF_MAX_MS)
            delay_ms = BACK_OFF_MAX_MS;
    }
    /* The entry would last for the lease: others would ask a node that has
     * stopped. */
    etcd_session_leave(&e->session, e->endpoints[e->endpoint]);
    return NULL;
}

/* ---- start and end ---- */

static void
free_etcd_client(struct etcd *e)
{
    etcd_session_fini(&e->session);
    curl_global_cleanup();
    etcd_nodes_fini(&e->published);
    pthread_mutex_destroy(&e->lock);
    for (int i = 0; i < TEXTS; i++)
        mem_free(e->texts[i]);
    mem_free(e);
}

/* Splits in place: blanks and commas become NULs. */
static void
split_endpoints(struct etcd *e)
{
    char *at = e->texts[TEXT_ENDPOINTS];

    while (*at && e->endpoint_count < ENDPOINTS_MAX) {
        size_t blank = strspn(at, ", \t");

        memset(at, 0, blank);
        at += blank;
        if (*at)
            e->endpoints[e->endpoint_count++] = at;
        at += strcspn(at, ", \t");
    }
    *at = '\0';
}

static int
copy_texts(struct etcd *e, const struct etcd_options *options)
{
    const char *const texts[TEXTS] = {
        [TEXT_ENDPOINTS] = options->endpoints,
        [TEXT_CACERT] = options->cacert,
        [TEXT_CERT] = options->cert,
        [TEXT_KEY] = options->key,
        [TEXT_USER] = options->user,
        [TEXT_CLUSTER] = options->cluster,
    };

    for (int i = 0; i < TEXTS; i++) {
        e->texts[i] = mem_strdup(texts[i]);
        if (!e->texts[i])
            return -1;
    }
    e->session.cluster = e->texts[TEXT_CLUSTER];
    e->session.user = e->texts[TEXT_USER];
    e->session.keeper = options->keeper;
    split_endpoints(e);
    return 0;
}

struct etcd *
etcd_start(const struct etcd_options *options, struct error *err)
{
    struct etcd *e = mem_zalloc(1, sizeof(*e));
    struct thread_start start = {"hw-etcd", STACK_BYTES, run_etcd_thread, e};
    struct etcd_http_options http;

    if (!e) {
        error_memory(err, "the nodes that etcd lists");
        return NULL;
    }
    init_curl();
    etcd_wire_prepare();
    pthread_mutex_init(&e->lock, NULL);
    etcd_session_init(&e->session);
    e->session.ttl_s = options->ttl_s;
    e->session.self = options->self;
    e->wanted = options->self.member;
    e->waker = options->waker;
    if (copy_texts(e, options) != 0) {
        error_memory(err, "the nodes that etcd lists");
        goto failed;
    }
    http = (struct etcd_http_options){e->texts[TEXT_CACERT],
                                      e->texts[TEXT_CERT], e->texts[TEXT_KEY]};
    e->session.http = etcd_http_new(&http, err);
    if (!e->session.http || thread_start(&e->thread, &start, err) != 0)
        goto failed;
    return e;
failed:
    free_etcd_client(e);
    return NULL;
}

void
etcd_stop(struct etcd *e)
{
    if (!e)
        return;
    etcd_http_wake(e->session.http);
    pthread_join(e->thread, NULL);
    free_etcd_client(e);
}

void
etcd_set_self(struct etcd *e, const struct member *self)
{
    pthread_mutex_lock(&e->lock);
    e->wanted = *self;
    pthread_mutex_unlock(&e->lock);
    etcd_http_poke(e->session.http);
}

int
etcd_get(struct etcd *e, struct etcd_nodes *out, struct error *trouble,
         struct error *err)
{
    int rc;

    pthread_mutex_lock(&e->lock);
    rc = etcd_nodes_copy(out, &e->published, err);
    if (rc == 0)
        *trouble = e->trouble;
    pthread_mutex_unlock(&e->lock);
    return rc;
}
