/*
 * etcd_session.c - see etcd_session.h.
 *
 * All state is in etcd, so the node's own entry is written as a transaction:
 * only if the key has the revision that was read.  Two nodes with one id
 * therefore cannot overwrite each other; the second sees the first one's
 * incarnation and reports a conflict.  Entries are read in pages of one
 * revision, and the watch begins at the next, so no change falls between.
 */
#include "etcd_session.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "etcd.h"
#include "keeper.h"
#include "log.h"

enum { PUT_TRIES = 3, PAGES_MAX = PEERS_MAX / ETCD_PAGE + 2 };

/* Whoever may write to etcd can cause these lines, so they are limited. */
static void
log_refused_nodes(const struct etcd_session *s)
{
    if (s->nodes.refused == 1)
        log_ratelimited("%s", s->nodes.refusal.text);
    else if (s->nodes.refused > 1)
        log_ratelimited("%s; and so are %zu others", s->nodes.refusal.text,
                        s->nodes.refused - 1);
}

/* ---- questions ---- */

static int
ask_etcd_with_timeout(struct etcd_session *s, const char *path,
                      unsigned timeout_ms, struct error *err)
{
    return etcd_http_ask(s->http, s->endpoint, path, s->token, &s->request,
                         &s->answer, timeout_ms, err);
}

/* Asks with a time limit of a third of the lease, or its renewal would come too
 * late. */
static int
ask_etcd_within_lease(struct etcd_session *s, const char *path,
                      struct error *err)
{
    return ask_etcd_with_timeout(s, path, s->ttl_s * 1000 / 3, err);
}

static struct span
answer_of(const struct etcd_session *s)
{
    return (struct span){s->answer.data ? s->answer.data : "", s->answer.size};
}

static int
log_in_to_etcd(struct etcd_session *s, struct error *err)
{
    char password[ETCD_PASSWORD_MAX + 1];
    int rc;

    *s->token = '\0';
    if (!*s->user)
        return 0;
    if (keeper_etcd_password(s->keeper, password, sizeof(password), err) != 0)
        return -1;
    buffer_clear(&s->request);
    etcd_ask_login(&s->request, s->user, password);
    explicit_bzero(password, sizeof(password));
    rc = ask_etcd_within_lease(s, ETCD_PATH_LOGIN, err);
    if (s->request.data)
        explicit_bzero(s->request.data, s->request.size);
    return rc == 0 ? etcd_read_login(answer_of(s), s->token, err) : -1;
}

/* Renews the lease, or takes a new one. */
static int
keep_lease(struct etcd_session *s, struct error *err)
{
    bool alive = false;

    if (s->lease) {
        buffer_clear(&s->request);
        etcd_ask_keepalive(&s->request, s->lease);
        if (ask_etcd_within_lease(s, ETCD_PATH_KEEPALIVE, err) != 0 ||
            etcd_read_keepalive(answer_of(s), &alive, err) != 0)
            return -1;
    }
    if (!alive) {
        s->lease = 0;
        buffer_clear(&s->request);
        etcd_ask_lease(&s->request, s->ttl_s);
        if (ask_etcd_within_lease(s, ETCD_PATH_LEASE, err) != 0 ||
            etcd_read_lease(answer_of(s), &s->lease, err) != 0)
            return -1;
    }
    s->keepalive_ms = clock_ms() + s->ttl_s * 1000 / 3;
    return 0;
}

static int
read_all_etcd_nodes(struct etcd_session *s, struct error *err)
{
    struct etcd_page page = {0};
    int pages = 0;

    etcd_nodes_clear(&s->nodes);
    do {
        int64_t revision = page.revision;

        if (pages++ == PAGES_MAX) {
            error_set(err, ER_UNKNOWN,
                      "etcd has more keys than a cluster has nodes");
            return -1;
        }
        buffer_clear(&s->request);
        etcd_ask_page(&s->request, s->cluster,
                      (struct span){page.last, page.last_size}, revision);
        if (ask_etcd_within_lease(s, ETCD_PATH_RANGE, err) != 0 ||
            etcd_read_page(answer_of(s), s->cluster, &s->nodes, &page, err) !=
                0)
            return -1;
        if (revision) /* of the first page: later changes come by the watch */
            page.revision = revision;
    } while (page.more);
    s->revision = page.revision;
    log_refused_nodes(s);
    return 0;
}

static int
open_watch(struct etcd_session *s, struct error *err)
{
    buffer_clear(&s->request);
    etcd_ask_watch(&s->request, s->cluster, s->revision + 1);
    return etcd_http_watch(s->http, s->endpoint, ETCD_PATH_WATCH, s->token,
                           &s->request, err);
}

/* ---- this node's own entry ---- */

static bool
is_own_etcd_node(const struct etcd_session *s, const struct etcd_node *node)
{
    return memcmp(node->incarnation, s->self.incarnation, PEER_INCARNATION) ==
           0;
}

static bool
is_as_wanted(const struct etcd_session *s, const struct etcd_node *there)
{
    return there->lease == s->lease &&
           member_is_same(&s->self.member, &there->member);
}

/* holder's id 0: the key's value is not a node's. */
static void
set_node_id_conflict(struct etcd_session *s, const struct etcd_node *holder)
{
    bool known = s->conflict.code != 0 &&
                 memcmp(s->rival, holder->incarnation, PEER_INCARNATION) == 0;

    /* Logged once for each rival. */
    if (known)
        return;
    memcpy(s->rival, holder->incarnation, PEER_INCARNATION);
    if (holder->member.id == 0)
        error_set(&s->conflict, ER_UNKNOWN,
                  "node %" PRIu64 ", this one, is not in etcd: its key there "
                  "has something else in it, which must be deleted first",
                  s->self.member.id);
    else
        error_set(&s->conflict, ER_UNKNOWN,
                  "node %" PRIu64 ", this one, is not in etcd: another has "
                  "that id there, at %s:%u (one of them needs another id; if "
                  "it was this node before it started again, its entry ends "
                  "within %u s)",
                  s->self.member.id, holder->member.address,
                  holder->member.port, s->ttl_s);
    log_ratelimited("%s", s->conflict.text);
}

static void
end_conflict(struct etcd_session *s)
{
    if (s->conflict.code != 0)
        log_ratelimited("node %" PRIu64 ", this one, is in etcd now",
                        s->self.member.id);
    memset(&s->conflict, 0, sizeof(s->conflict));
}

/* Writes the own entry over what the table has.  It is repeated where another
 * write came between. */
static int
put_own(struct etcd_session *s, struct error *err)
{
    const struct etcd_node *there =
        etcd_nodes_find(&s->nodes, s->self.member.id);
    int64_t modified = there ? there->modified : 0;
    struct etcd_node holder;
    bool done;

    for (int i = 0; i < PUT_TRIES; i++) {
        buffer_clear(&s->request);
        etcd_ask_put(&s->request, s->cluster, &s->self, s->lease, modified);
        if (ask_etcd_within_lease(s, ETCD_PATH_TXN, err) != 0 ||
            etcd_read_put(answer_of(s), s->cluster, s->self.member.id, &done,
                          &holder, err) != 0)
            return -1;
        if (done) {
            holder = s->self;
            holder.lease = s->lease;
            end_conflict(s);
            return etcd_nodes_put(&s->nodes, &holder, err);
        }
        modified = holder.modified;
        if (modified == 0)
            continue; /* the entry has just gone */
        if (holder.member.id == 0 || !is_own_etcd_node(s, &holder)) {
            set_node_id_conflict(s, &holder);
            return holder.member.id ? etcd_nodes_put(&s->nodes, &holder, err)
                                    : 0;
        }
        if (is_as_wanted(s, &holder))
            return etcd_nodes_put(&s->nodes, &holder, err);
    }
    return 0; /* the watch will bring it */
}

int
etcd_session_keep_own(struct etcd_session *s, struct error *err)
{
    const struct etcd_node *there =
        etcd_nodes_find(&s->nodes, s->self.member.id);

    if (there && !is_own_etcd_node(s, there)) {
        set_node_id_conflict(s, there);
        return 0;
    }
    if (there && is_as_wanted(s, there)) {
        end_conflict(s);
        return 0;
    }
    return put_own(s, err);
}

/* ---- a session ---- */

/* Takes the lines of the watch that have come.  *changes: how many there were.
 */
static int
take_lines(struct etcd_session *s, size_t *changes, struct error *err)
{
    struct span line;
    size_t n;
    int rc;

    *changes = 0;
    s->nodes.refused = 0;
    while ((rc = etcd_http_line(s->http, &line, err)) > 0) {
        if (etcd_read_watch(line, s->cluster, &s->nodes, &n, &s->revision,
                            err) != 0)
            return -1;
        *changes += n;
    }
    log_refused_nodes(s);
    return rc;
}

void
etcd_session_init(struct etcd_session *s)
{
    memset(s, 0, sizeof(*s));
    buffer_init(&s->request, ETCD_REQUEST_MAX);
    buffer_init(&s->answer, ETCD_ANSWER_MAX);
}

void
etcd_session_fini(struct etcd_session *s)
{
    etcd_http_free(s->http);
    etcd_nodes_fini(&s->nodes);
    buffer_fini(&s->request);
    buffer_fini(&s->answer);
    explicit_bzero(s->token, sizeof(s->token));
}

int
etcd_session_open(struct etcd_session *s, const char *endpoint,
                  struct error *err)
{
    s->endpoint = endpoint;
    return log_in_to_etcd(s, err) == 0 && keep_lease(s, err) == 0 &&
                   read_all_etcd_nodes(s, err) == 0 &&
                   etcd_session_keep_own(s, err) == 0 && open_watch(s, err) == 0
               ? 0
               : -1;
}

int
etcd_session_step(struct etcd_session *s, size_t *changes, struct error *err)
{
    uint64_t now = clock_ms();
    int64_t before = s->lease;

    /* Until the lease is due, changes are waited for. */
    if (now < s->keepalive_ms) {
        etcd_http_wait(s->http, (unsigned)(s->keepalive_ms - now));
        return take_lines(s, changes, err);
    }
    if (keep_lease(s, err) != 0)
        return -1;
    /* A new lease has none of our keys: the own entry must be written again. */
    *changes = s->lease != before;
    return 0;
}

void
etcd_session_leave(struct etcd_session *s, const char *endpoint)
{
    struct error err;

    if (!s->lease)
        return;
    s->endpoint = endpoint;
    etcd_http_resume(s->http);
    buffer_clear(&s->request);
    etcd_ask_keepalive(&s->request, s->lease);
    /* On failure the lease expires by itself. */
    (void)ask_etcd_with_timeout(s, ETCD_PATH_REVOKE, ETCD_STOP_MS, &err);
}
