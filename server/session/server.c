/*
 * server.c - see server.h.
 *
 * Limits come from one number, the descriptors that the kernel allows: users'
 * sessions, nodes' sessions, HTTP's connections and links each have a part that
 * the others cannot take, so that a flood of one kind leaves the others served.
 * When a kind is full, something idle of it makes room rather than a new client
 * being refused.  Lists are scanned only then, at a tick or at a reload.
 */
#include "server.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "clock.h"
#include "config.h"
#include "errors.h"
#include "files.h"
#include "hash.h"
#include "host.h"
#include "log.h"
#include "server_counts.h"
#include "session.h"
#include "user_quota.h"
#include "auth.h"

static bool
is_resting(const struct server *server)
{
    return server->running == 0 && !server->stopping &&
           server->logins[0][TRANSPORT_LOCAL].count == 0 &&
           server->logins[0][TRANSPORT_TCP].count == 0 &&
           server->logins[1][TRANSPORT_LOCAL].count == 0 &&
           server->logins[1][TRANSPORT_TCP].count == 0;
}

/* Trims the heap, off the loop, some time after memory was freed. */
static void
trim_memory(struct server *server, uint64_t now_ms)
{
    struct error ignored;

    if (!trim_take(&server->trim, now_ms) ||
        loop_make_ready(&server->loop, &ignored) != 0)
        return;
    /* malloc_trim takes milliseconds: another thread leads meanwhile. */
    loop_yield_lead(&server->loop);
    trim_run();
    loop_lock(&server->loop);
}

/* Closed sessions stay in the list until a later round, so `next` is safe. */
static void
on_tick(void *arg)
{
    struct server *server = arg;
    uint64_t now_ms = clock_ms();

    for (struct session *s = server->sessions; s; s = s->next) {
        if (server->stopping && now_ms >= server->stop_deadline_ms)
            session_close(s);
        else
            session_tick(s, now_ms);
    }
    trim_memory(server, now_ms);
    server_set_pace(server,
                    is_resting(server) ? SERVER_RESTING_MS : SERVER_TICK_MS);
}

/* Called by any thread, so it only sets a flag and wakes the loop. */
static void
note_kill(void *arg)
{
    struct server *server = arg;

    atomic_store(&server->killed, true);
    loop_wake(&server->loop);
}

static void
on_kill_notification(void *arg)
{
    struct server *server = arg;

    if (!atomic_exchange(&server->killed, false))
        return;
    for (struct session *s = server->sessions; s; s = s->next)
        session_kill(s, registry_take_kill(&server->registry, &s->entry));
}

static void
on_ended(uv_async_t *ended)
{
    struct server *server = ended->data;

    /* main's loop ends when its last handle is closed; these two kept it alive.
     */
    uv_close((uv_handle_t *)ended, NULL);
    notification_queue_close(&server->notifications);
}

/* Divides the descriptors: snapshots, the symbolizer and the log need some,
 * too. */
static void
set_limits(struct server *server, size_t wanted)
{
    size_t others = SERVER_DESCRIPTORS + SERVER_SPARES, few, links;
    struct rlimit limit;

    server->max = wanted;
    server->peers_max = SERVER_PEERS_MAX;
    server->web_max = SERVER_WEB_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        /* A quarter is kept for links to other nodes: rlim_cur / 4 * 3 is for
         * the rest. */
        limit.rlim_cur / 4 * 3 >=
            wanted + others + SERVER_PEERS_MAX + SERVER_WEB_MAX)
        return;
    few = (size_t)limit.rlim_cur;
    links = few / 4; /* to other nodes: server_spare_descriptors() */
    if (server->peers_max > few / 8)
        server->peers_max = few / 8;
    if (server->web_max > few / 8)
        server->web_max = few / 8;
    others += server->peers_max + server->web_max + links;
    server->max = few / 4 * 3 >= others ? few - others : few / 4;
    if (server->max > wanted)
        server->max = wanted;
    log_line("the limit of %zu descriptors (ulimit -Hn, or LimitNOFILE= of "
             "systemd) allows %zu connections of max_connections = %zu, %zu of "
             "HTTP (else %d), %zu of other nodes (else %d), and %zu to them; "
             "%zu would allow all",
             few, server->max, wanted, server->web_max, SERVER_WEB_MAX,
             server->peers_max, SERVER_PEERS_MAX, links,
             (wanted + SERVER_DESCRIPTORS + SERVER_SPARES + SERVER_PEERS_MAX +
              SERVER_WEB_MAX + 2) /
                 3 * 4);
}

size_t
server_spare_descriptors(const struct server *server)
{
    size_t others = SERVER_DESCRIPTORS + SERVER_SPARES + server->max +
                    server->peers_max + server->web_max;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return SIZE_MAX;
    return limit.rlim_cur / 4 * 3 >= others ? (size_t)limit.rlim_cur - others
                                            : (size_t)limit.rlim_cur / 4;
}

int
server_init(struct server *server, uv_loop_t *main, const struct sql_node *node,
            uint32_t max_connections, struct error *err)
{
    struct waker killed = {note_kill, server};

    memset(server, 0, sizeof(*server));
    server->main = main;
    set_limits(server, max_connections);
    if (loop_init(&server->loop, err) != 0)
        return -1;
    if (notification_queue_init(&server->notifications, main, err) != 0) {
        loop_fini(&server->loop);
        return -1;
    }
    server->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    server->loop.on_tick = on_tick;
    server->loop.on_wake = on_kill_notification;
    server->loop.arg = server;
    uv_async_init(main, &server->ended, on_ended);
    server->ended.data = server;
    scheduler_init(&server->scheduler);
    trim_init();
    server->logins_more.run = session_read_logins;
    pthread_mutex_init(&server->lock, NULL);
    registry_init(&server->registry, killed);
    /* Without random bytes the table still works, with a weaker secret. */
    if (RAND_bytes((unsigned char *)&server->backoff.secret,
                   sizeof(server->backoff.secret)) != 1)
        server->backoff.secret = hash_seed(server);
    server_learn_name(server);
    server->node = *node;
    server->node.max_connections = (uint32_t)server->max;
    host_init(server);
    return 0;
}

void
server_learn_name(struct server *server)
{
    char names[16384];
    struct passwd entry, *found = NULL;

    server->own_name[0] = '\0';
    if (getpwuid_r(geteuid(), &entry, names, sizeof(names), &found) == 0 &&
        found && strlen(entry.pw_name) < sizeof(server->own_name))
        memcpy(server->own_name, entry.pw_name, strlen(entry.pw_name) + 1);
}

void
server_set_users(struct server *server, struct users *users)
{
    struct users *old = server->users;

    pthread_mutex_lock(&server->lock);
    server->users = users;
    pthread_mutex_unlock(&server->lock);
    users_free(old);
}

static bool
is_session_stale(const struct server *server, const struct session *s)
{
    const struct user *user;

    if (!s->by_password)
        return false;
    user = users_named(server->users, s->who.user);
    return !user || user->privileges != s->who.privileges;
}

size_t
server_end_stale_sessions(struct server *server)
{
    size_t count = 0;

    for (struct session *s = server->sessions; s; s = s->next) {
        if (s->state == SESSION_CLOSED || !is_session_stale(server, s))
            continue;
        session_kill(s, KILL_SESSION);
        count++;
    }
    return count;
}

void
server_end_web(struct server *server)
{
    for (struct session *s = server->sessions; s; s = s->next)
        if (s->conversation->web && s->transport == TRANSPORT_TCP)
            session_close(s);
}

static char *
print_settings(const struct config *config)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    setting_print(config, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void
server_set_settings(struct server *server, const struct config *config)
{
    char *settings = print_settings(config), *old = server->settings;

    server->statement_timeout_s = config->statement_timeout_s;
    server->login_failures = config->login_failures;
    server->node.idle_timeout_s = config->idle_timeout_s;
    server->node.statement_timeout_s = config->statement_timeout_s;
    server->node.requires_tls = config_requires_tls(config);
    server->http_requires_tls = config_http_requires_tls(config);
    server->http_get_changes = config->http_get_changes;
    pthread_mutex_lock(&server->lock);
    server->settings = settings;
    pthread_mutex_unlock(&server->lock);
    free(old);
}

void
server_set_identity(struct server *server, const struct peer_identity *identity)
{
    bool same = server->has_identity &&
                server->identity.key_number == identity->key_number;

    server->identity = *identity;
    server->has_identity = true;
    if (same)
        return;
    /* A new key: nodes that proved the former one must prove themselves again.
     */
    server->generation++;
    for (struct session *s = server->sessions; s; s = s->next)
        if (s->conversation->is_outdated && s->conversation->is_outdated(s))
            session_kill(s, KILL_SESSION);
}

void
server_set_tls(struct server *server, SSL_CTX *context)
{
    SSL_CTX_free(server->tls);
    server->tls = context;
}

/* Finds the session that has been idle longest; the list begins with the
 * newest. */
static struct session *
find_idle(const struct server *server, bool peers, bool web,
          enum session_state state)
{
    struct session *found = NULL;

    for (struct session *s = server->sessions; s; s = s->next)
        if (s->noted_peer == peers && s->conversation->web == web &&
            s->state == state && (!found || s->since_ms <= found->since_ms))
            found = s;
    return found;
}

/* Statements never have all of HTTP's connections (server_check_http_quota), so
 * there is one to evict.  In this order: an unauthenticated one if there are
 * many, the longest idle, one that is being closed, any unauthenticated one;
 * those on the unix socket last. */
static struct session *
find_evicted(const struct server *server)
{
    const struct server_logins *unproven = server->logins[1];
    struct session *found;

    if (unproven[TRANSPORT_TCP].count >= server_reserve(server->web_max))
        return unproven[TRANSPORT_TCP].first;
    found = find_idle(server, false, true, SESSION_READY);
    if (!found)
        found = find_idle(server, false, true, SESSION_CLOSING);
    if (!found)
        found = unproven[TRANSPORT_TCP].first;
    return found ? found : unproven[TRANSPORT_LOCAL].first;
}

static bool
admit_http_connection(struct server *server)
{
    struct session *evicted;

    if (server->web < server->web_max)
        return true;
    evicted = find_evicted(server);
    if (!evicted)
        return false;
    log_ratelimited("closed connection %u, of HTTP, to make room for a new one",
                    evicted->entry.id);
    session_close(evicted);
    return true;
}

int
server_check_http_quota(const struct server *server, const struct session *s,
                        struct error *err)
{
    struct user_quota quota = {.user = s->who.user};
    size_t reserve = server_reserve(server->web_max);
    size_t max = server->web_max - (s->who.trusted ? 1 : 2) * reserve;

    if (server->web <= max / 2)
        return 0; /* more than half are free: no need to count */
    for (const struct session *other = server->sessions; other;
         other = other->next)
        if (other->conversation->web && other->statement)
            user_quota_count(&quota, other->who.user);
    return user_quota_check(&quota, max, "HTTP requests at work",
                            "wait until one is answered", err);
}

bool
server_admit_connection(struct server *server, enum transport transport,
                        const struct conversation *conversation)
{
    struct server_logins *logins = &server->logins[0][transport];

    if (server->stopping)
        return false;
    if (conversation->web)
        return admit_http_connection(server);
    if (logins->count < SERVER_LOGINS_MAX &&
        (server_can_admit(server, transport) || server->spares < SERVER_SPARES))
        return true;
    if (!logins->first)
        return false;
    log_ratelimited(
        "closed connection %u, not logged in yet, to make room for a new one",
        logins->first->entry.id);
    session_close(logins->first);
    return true;
}

int
server_note_peer(struct server *server, struct session *s, struct error *err)
{
    struct session *idle = NULL;

    /* The number only grows by sessions that have proven to be nodes, so an
     * outsider cannot evict one. */
    if (server->peers >= server->peers_max) {
        idle = find_idle(server, true, false, SESSION_READY);
        if (!idle) {
            error_set(err, ER_TOO_MANY_CONNECTIONS,
                      "Too many connections: %zu of other nodes are at work",
                      server->peers_max);
            return -1;
        }
        session_close(idle);
    }
    server_settle(server, s);
    s->noted_peer = true;
    server->peers++;
    return 0;
}

void
server_stop(struct server *server)
{
    if (server->stopping)
        return;
    server->stopping = true;
    server_hurry(server);
    server->stop_deadline_ms = clock_ms() + SERVER_STOP_MS;
    for (struct session *s = server->sessions; s; s = s->next)
        session_shut_down(s);
    if (server->count == 0)
        server_stop_now(server);
}

void
server_fini(struct server *server)
{
    loop_stop(&server->loop);
    loop_fini(&server->loop);
    scheduler_fini(&server->scheduler);
    notification_queue_fini(&server->notifications);
    registry_fini(&server->registry);
    server_set_users(server, NULL);
    free(server->settings);
    pthread_mutex_destroy(&server->lock);
    server_set_tls(server, NULL);
    fd_close(server->reserve);
    for (size_t i = 0; i < 4; i++)
        buffer_fini(&server->metrics[i / 2][i % 2].body);
}
