/*
 * etcd.c - see etcd.h.
 *
 * The thread's life is a row of sessions, each with one endpoint: lease, all
 * entries, then the watch, until something fails.  The lease lasts longer than
 * a session: the next one goes on with it.
 *
 * Our own entry is written when the table has none of ours, and only in place
 * of what the table had: whoever came first keeps it.
 */
#include "etcd.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "etcd_http.h"
#include "etcd_wire.h"
#include "log.h"
#include "memory.h"
#include "thread.h"

enum {
    BACK_OFF_MS = 250, /* between two rounds; doubles */
    BACK_OFF_MAX_MS = 5000,
    STACK_BYTES = 1 << 20,
    ENDPOINTS_MAX = 8,
    PUT_TRIES = 3,
    PAGES_MAX = PEERS_MAX / ETCD_PAGE + 2
};

enum text {
    TEXT_ENDPOINTS,
    TEXT_CACERT,
    TEXT_CERT,
    TEXT_KEY,
    TEXT_USER,
    TEXT_PASSWORD,
    TEXT_CLUSTER,
    TEXTS
};

struct etcd {
    char *texts[TEXTS]; /* of the options */
    unsigned ttl_s;
    struct etcd_node self;
    struct waker waker;
    struct etcd_http *http;
    pthread_t thread;

    pthread_mutex_t lock; /* guards these three */
    struct member wanted; /* what self is to be */
    struct etcd_nodes published;
    struct error trouble;

    /* The thread's own. */
    const char *endpoints[ENDPOINTS_MAX];
    size_t endpoint_count, endpoint; /* which one is asked */
    struct buffer request, answer;
    char token[ETCD_TOKEN_MAX + 1];
    struct etcd_nodes nodes;
    int64_t lease; /* 0: none */
    int64_t revision;
    uint64_t keepalive_ms; /* when it is due */
    bool lost;             /* that was said, and nothing has worked since */
    struct error conflict; /* about our id; code 0: none */
    uint8_t rival[PEER_INCARNATION]; /* whom it is about */
};

/* ---- telling ---- */

static void
publish(struct etcd *e, const struct error *trouble)
{
    struct etcd_nodes copy;
    struct error err;

    if (etcd_nodes_copy(&copy, &e->nodes, &err) != 0) {
        log_fault("etcd: %s", err.text); /* what was known stays */
        return;
    }
    pthread_mutex_lock(&e->lock);
    etcd_nodes_fini(&e->published);
    e->published = copy;
    e->trouble = *trouble;
    pthread_mutex_unlock(&e->lock);
    e->waker.wake(e->waker.arg);
}

/* The nodes stay as they were: those of e->nodes may be half of them. */
static void
publish_trouble(struct etcd *e, const struct error *trouble)
{
    pthread_mutex_lock(&e->lock);
    e->trouble = *trouble;
    pthread_mutex_unlock(&e->lock);
    e->waker.wake(e->waker.arg);
}

static void
say_lost(struct etcd *e, const struct error *why)
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
say_found(struct etcd *e, bool first)
{
    if (first || e->lost)
        log_line("etcd at %s tells of %zu nodes of the cluster %s",
                 e->endpoints[e->endpoint], e->nodes.count,
                 e->texts[TEXT_CLUSTER]);
    e->lost = false;
}

/* Anybody who may write there can cause it. */
static void
say_refused(const struct etcd *e)
{
    if (e->nodes.refused == 1)
        log_stranger("%s", e->nodes.refusal.text);
    else if (e->nodes.refused > 1)
        log_stranger("%s; and so are %zu others", e->nodes.refusal.text,
                     e->nodes.refused - 1);
}

/* ---- questions ---- */

static int
ask_for(struct etcd *e, const char *path, unsigned timeout_ms,
        struct error *err)
{
    return etcd_http_ask(e->http, e->endpoints[e->endpoint], path, e->token,
                         &e->request, &e->answer, timeout_ms, err);
}

/* As long as the lease bears it. */
static int
ask(struct etcd *e, const char *path, struct error *err)
{
    return ask_for(e, path, e->ttl_s * 1000 / 3, err);
}

static struct span
answer_of(const struct etcd *e)
{
    return (struct span){e->answer.data ? e->answer.data : "", e->answer.size};
}

static int
log_in(struct etcd *e, struct error *err)
{
    int rc;

    *e->token = '\0';
    if (!*e->texts[TEXT_USER])
        return 0;
    buffer_clear(&e->request);
    etcd_ask_login(&e->request, e->texts[TEXT_USER], e->texts[TEXT_PASSWORD]);
    rc = ask(e, ETCD_PATH_LOGIN, err);
    if (e->request.data)
        explicit_bzero(e->request.data, e->request.size);
    return rc == 0 ? etcd_read_login(answer_of(e), e->token, err) : -1;
}

/* The one that there was, or another. */
static int
keep_lease(struct etcd *e, struct error *err)
{
    bool alive = false;

    if (e->lease) {
        buffer_clear(&e->request);
        etcd_ask_keepalive(&e->request, e->lease);
        if (ask(e, ETCD_PATH_KEEPALIVE, err) != 0 ||
            etcd_read_keepalive(answer_of(e), &alive, err) != 0)
            return -1;
    }
    if (!alive) {
        e->lease = 0;
        buffer_clear(&e->request);
        etcd_ask_lease(&e->request, e->ttl_s);
        if (ask(e, ETCD_PATH_LEASE, err) != 0 ||
            etcd_read_lease(answer_of(e), &e->lease, err) != 0)
            return -1;
    }
    e->keepalive_ms = clock_ms() + e->ttl_s * 1000 / 3;
    return 0;
}

static int
read_all(struct etcd *e, struct error *err)
{
    struct etcd_page page = {0};
    int pages = 0;

    etcd_nodes_clear(&e->nodes);
    do {
        int64_t revision = page.revision;

        if (pages++ == PAGES_MAX) {
            error_set(err, ER_UNKNOWN,
                      "etcd has more keys than a cluster has nodes");
            return -1;
        }
        buffer_clear(&e->request);
        etcd_ask_page(&e->request, e->texts[TEXT_CLUSTER],
                      (struct span){page.last, page.last_size}, revision);
        if (ask(e, ETCD_PATH_RANGE, err) != 0 ||
            etcd_read_page(answer_of(e), e->texts[TEXT_CLUSTER], &e->nodes,
                           &page, err) != 0)
            return -1;
        if (revision) /* that of the first page: changes since come later */
            page.revision = revision;
    } while (page.more);
    e->revision = page.revision;
    say_refused(e);
    return 0;
}

static int
open_watch(struct etcd *e, struct error *err)
{
    buffer_clear(&e->request);
    etcd_ask_watch(&e->request, e->texts[TEXT_CLUSTER], e->revision + 1);
    return etcd_http_watch(e->http, e->endpoints[e->endpoint], ETCD_PATH_WATCH,
                           e->token, &e->request, err);
}

/* ---- our own entry ---- */

static bool
is_ours(const struct etcd *e, const struct etcd_node *node)
{
    return memcmp(node->incarnation, e->self.incarnation, PEER_INCARNATION) ==
           0;
}

static bool
is_same(const struct member *a, const struct member *b)
{
    return a->port == b->port && a->role == b->role &&
           strcmp(a->address, b->address) == 0;
}

static bool
is_as_wanted(const struct etcd *e, const struct etcd_node *there)
{
    return there->lease == e->lease && is_same(&e->self.member, &there->member);
}

/* Is it another now? */
static bool
take_wanted(struct etcd *e)
{
    bool changed;

    pthread_mutex_lock(&e->lock);
    changed = !is_same(&e->wanted, &e->self.member);
    e->self.member = e->wanted;
    pthread_mutex_unlock(&e->lock);
    return changed;
}

/* holder's id 0: it is no node. */
static void
say_conflict(struct etcd *e, const struct etcd_node *holder)
{
    bool known = e->conflict.code != 0 &&
                 memcmp(e->rival, holder->incarnation, PEER_INCARNATION) == 0;

    if (known)
        return;
    memcpy(e->rival, holder->incarnation, PEER_INCARNATION);
    if (holder->member.id == 0)
        error_set(&e->conflict, ER_UNKNOWN,
                  "node %" PRIu64 ", this one, is not in etcd: its key there "
                  "has something else in it, which must be deleted first",
                  e->self.member.id);
    else
        error_set(&e->conflict, ER_UNKNOWN,
                  "node %" PRIu64 ", this one, is not in etcd: another has "
                  "that id there, at %s:%u (one of them needs another id; if "
                  "it was this node before it started again, its entry ends "
                  "within %u s)",
                  e->self.member.id, holder->member.address,
                  holder->member.port, e->ttl_s);
    log_line("%s", e->conflict.text);
}

static void
end_conflict(struct etcd *e)
{
    if (e->conflict.code != 0)
        log_line("node %" PRIu64 ", this one, is in etcd now",
                 e->self.member.id);
    memset(&e->conflict, 0, sizeof(e->conflict));
}

/* Puts it in place of what the table has. */
static int
put_own(struct etcd *e, struct error *err)
{
    const struct etcd_node *there =
        etcd_nodes_find(&e->nodes, e->self.member.id);
    int64_t modified = there ? there->modified : 0;
    struct etcd_node holder;
    bool done;

    for (int i = 0; i < PUT_TRIES; i++) {
        buffer_clear(&e->request);
        etcd_ask_put(&e->request, e->texts[TEXT_CLUSTER], &e->self, e->lease,
                     modified);
        if (ask(e, ETCD_PATH_TXN, err) != 0 ||
            etcd_read_put(answer_of(e), e->texts[TEXT_CLUSTER],
                          e->self.member.id, &done, &holder, err) != 0)
            return -1;
        if (done) {
            holder = e->self;
            holder.lease = e->lease;
            end_conflict(e);
            return etcd_nodes_put(&e->nodes, &holder, err);
        }
        modified = holder.modified;
        if (modified == 0)
            continue; /* it has just gone */
        if (holder.member.id == 0 || !is_ours(e, &holder)) {
            say_conflict(e, &holder);
            return holder.member.id ? etcd_nodes_put(&e->nodes, &holder, err)
                                    : 0;
        }
        if (is_as_wanted(e, &holder))
            return etcd_nodes_put(&e->nodes, &holder, err);
    }
    return 0; /* the watch will tell */
}

static int
keep_own(struct etcd *e, struct error *err)
{
    const struct etcd_node *there =
        etcd_nodes_find(&e->nodes, e->self.member.id);

    if (there && !is_ours(e, there)) {
        say_conflict(e, there);
        return 0;
    }
    if (there && is_as_wanted(e, there)) {
        end_conflict(e);
        return 0;
    }
    return put_own(e, err);
}

/* ---- a session ---- */

/* *changes: how many came. */
static int
take_lines(struct etcd *e, size_t *changes, struct error *err)
{
    struct span line;
    size_t n;
    int rc;

    *changes = 0;
    e->nodes.refused = 0;
    while ((rc = etcd_http_line(e->http, &line, err)) > 0) {
        if (etcd_read_watch(line, e->texts[TEXT_CLUSTER], &e->nodes, &n,
                            &e->revision, err) != 0)
            return -1;
        *changes += n;
    }
    say_refused(e);
    return rc;
}

/* Until something fails, or the end. */
static int
follow(struct etcd *e, struct error *err)
{
    size_t changes;

    while (!etcd_http_is_woken(e->http)) {
        uint64_t now = clock_ms();

        if (now >= e->keepalive_ms) {
            int64_t before = e->lease;

            if (keep_lease(e, err) != 0)
                return -1;
            changes = e->lease != before;
        } else {
            etcd_http_wait(e->http, (unsigned)(e->keepalive_ms - now));
            if (take_lines(e, &changes, err) != 0)
                return -1;
        }
        changes += take_wanted(e);
        if (changes == 0)
            continue;
        if (keep_own(e, err) != 0)
            return -1;
        publish(e, &e->conflict);
    }
    return 0;
}

/* *worked: it came as far as following. */
static int
run_session(struct etcd *e, bool first, bool *worked, struct error *err)
{
    int rc = -1;

    *worked = false;
    (void)take_wanted(e);
    if (log_in(e, err) == 0 && keep_lease(e, err) == 0 &&
        read_all(e, err) == 0 && keep_own(e, err) == 0 &&
        open_watch(e, err) == 0) {
        *worked = true;
        say_found(e, first);
        publish(e, &e->conflict);
        rc = follow(e, err);
    }
    etcd_http_unwatch(e->http);
    return rc;
}

/* Half of delay_ms, and up to that again. */
static void
rest(struct etcd *e, unsigned delay_ms)
{
    uint16_t random = 0;
    uint64_t until, now = clock_ms();

    (void)RAND_bytes((unsigned char *)&random, sizeof(random));
    until = now + delay_ms / 2 + random % (delay_ms / 2 + 1);
    while (!etcd_http_is_woken(e->http) && (now = clock_ms()) < until)
        etcd_http_wait(e->http, (unsigned)(until - now));
}

static void
leave(struct etcd *e)
{
    struct error err;

    if (!e->lease)
        return;
    etcd_http_resume(e->http);
    buffer_clear(&e->request);
    etcd_ask_keepalive(&e->request, e->lease);
    /* Else its time ends. */
    (void)ask_for(e, ETCD_PATH_REVOKE, ETCD_STOP_MS, &err);
}

static void *
run(void *arg)
{
    struct etcd *e = arg;
    unsigned delay_ms = BACK_OFF_MS;
    bool first = true, worked;
    size_t failed = 0; /* endpoints, in a row */
    struct error err;

    while (!etcd_http_is_woken(e->http)) {
        if (run_session(e, first, &worked, &err) == 0)
            break;
        if (worked) {
            first = false;
            failed = 0;
            delay_ms = BACK_OFF_MS;
        }
        e->endpoint = (e->endpoint + 1) % e->endpoint_count;
        if (++failed < e->endpoint_count || etcd_http_is_woken(e->http))
            continue;
        say_lost(e, &err);
        rest(e, delay_ms);
        failed = 0;
        delay_ms *= 2;
        if (delay_ms > BACK_OFF_MAX_MS)
            delay_ms = BACK_OFF_MAX_MS;
    }
    leave(e);
    return NULL;
}

/* ---- start and end ---- */

static void
release(struct etcd *e)
{
    etcd_http_free(e->http);
    curl_global_cleanup();
    etcd_nodes_fini(&e->nodes);
    etcd_nodes_fini(&e->published);
    buffer_fini(&e->request);
    buffer_fini(&e->answer);
    pthread_mutex_destroy(&e->lock);
    if (e->texts[TEXT_PASSWORD])
        explicit_bzero(e->texts[TEXT_PASSWORD],
                       strlen(e->texts[TEXT_PASSWORD]));
    explicit_bzero(e->token, sizeof(e->token));
    for (int i = 0; i < TEXTS; i++)
        mem_free(e->texts[i]);
    mem_free(e);
}

/* In place: blanks and commas become ends. */
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
        [TEXT_PASSWORD] = options->password,
        [TEXT_CLUSTER] = options->cluster,
    };

    for (int i = 0; i < TEXTS; i++) {
        e->texts[i] = mem_strdup(texts[i]);
        if (!e->texts[i])
            return -1;
    }
    split_endpoints(e);
    return 0;
}

struct etcd *
etcd_start(const struct etcd_options *options, struct error *err)
{
    struct etcd *e = mem_zalloc(1, sizeof(*e));
    struct thread_start start = {"hw-etcd", STACK_BYTES, run, e};
    struct etcd_http_options http;

    if (!e) {
        error_memory(err, "what etcd tells");
        return NULL;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    etcd_wire_prepare();
    pthread_mutex_init(&e->lock, NULL);
    buffer_init(&e->request, ETCD_REQUEST_MAX);
    buffer_init(&e->answer, ETCD_ANSWER_MAX);
    e->ttl_s = options->ttl_s;
    e->self = options->self;
    e->wanted = options->self.member;
    e->waker = options->waker;
    if (copy_texts(e, options) != 0) {
        error_memory(err, "what etcd tells");
        goto failed;
    }
    http = (struct etcd_http_options){e->texts[TEXT_CACERT],
                                      e->texts[TEXT_CERT], e->texts[TEXT_KEY]};
    e->http = etcd_http_new(&http, err);
    if (!e->http || thread_start(&e->thread, &start, err) != 0)
        goto failed;
    return e;
failed:
    release(e);
    return NULL;
}

void
etcd_stop(struct etcd *e)
{
    if (!e)
        return;
    etcd_http_wake(e->http);
    pthread_join(e->thread, NULL);
    release(e);
}

void
etcd_set_self(struct etcd *e, const struct member *self)
{
    pthread_mutex_lock(&e->lock);
    e->wanted = *self;
    pthread_mutex_unlock(&e->lock);
    etcd_http_poke(e->http);
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
