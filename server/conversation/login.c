/*
 * login.c - see login.h.
 *
 * No password is ever sent in clear: both plugins prove it by a digest over the
 * server's nonce, and the keeper checks the digest.  Every account looks the
 * same from outside, whether it exists or not, in answers, in order and in
 * time.  backoff.h admits each proof before the keeper is asked to check it.
 * The order in login_response() (TLS, then transport, then who) matters: what
 * an attacker on the way could have changed is never used.
 */
#include "login.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capability.h"
#include "clock.h"
#include "errors.h"
#include "handshake.h"
#include "keeper.h"
#include "log.h"
#include "peer_login.h"
#include "peer_proof.h"
#include "prepared_commands.h"
#include "server_counts.h"
#include "session.h"
#include "tcp_owner.h"
#include "tls_stream.h"
#include "auth.h"

void
login_begin(struct session *s)
{
    struct error err;

    if (auth_nonce(s->nonce, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    handshake_greet(&s->reply, s->entry.id, SQL_SERVER_VERSION, s->nonce);
    s->in.sequence = s->reply.sequence;
    s->login_deadline_ms = clock_ms() + SESSION_LOGIN_MS;
    session_enter(s, SESSION_LOGIN);
}

/* Only loopback has local users; a lookup costs 30 us, so it is made when a
 * proof comes and not when anybody connects. */
static void
key_backoff_by_user(struct session *s)
{
    uid_t uid;

    if (backoff_is_loopback(s->address_key) && tcp_owner(s->source.fd, &uid))
        s->address_key = backoff_key_of_user(uid);
}

enum login_admission
login_check_admission(struct session *s, bool may_wait, struct error *err)
{
    uint64_t wait_ms;
    bool admitted;

    if (s->waited) {
        s->waited = false; /* `waited` admits one proof */
        return LOGIN_NOW;
    }
    key_backoff_by_user(s);
    admitted =
        backoff_admit(&s->server->backoff, s->address_key, s->wanted_user,
                      s->server->login_failures, clock_ms(), &wait_ms);
    if (admitted && wait_ms == 0)
        return LOGIN_NOW;
    if (admitted && may_wait) {
        session_delay(s, wait_ms);
        return LOGIN_LATER;
    }
    error_set(
        err, ER_HOST_IS_BLOCKED,
        "Host '%s' is blocked for this account: wrong passwords came from "
        "it, and too many logins wait to be answered one by one; try "
        "again in %u s, or use the unix socket",
        s->who.host, (unsigned)((wait_ms + 999) / 1000));
    log_ratelimited("connection %u: %s", s->entry.id, err->text);
    return LOGIN_REFUSED;
}

/* False: the proof is not looked at now; it comes again later, or has failed.
 */
static bool
may_verify_login(struct session *s)
{
    struct error err;
    enum login_admission admission = login_check_admission(s, true, &err);

    if (admission == LOGIN_REFUSED)
        session_fail(s, &err);
    return admission == LOGIN_NOW;
}

static void
count_login_failure(struct session *s)
{
    s->guessed = false;
    backoff_failed(&s->server->backoff, s->address_key, s->wanted_user,
                   s->server->login_failures, clock_ms());
}

/* After a wrong native proof the client was asked again (check_native); leaving
 * then counts as one wrong guess. */
void
login_given_up(struct session *s)
{
    if (s->guessed)
        count_login_failure(s);
}

/* Unknown users and wrong passwords look the same, here and in time.  A login
 * without a password is no guess, because every user has one: load balancers
 * check in this way whether the port is alive, and must not lock out all
 * clients behind them. */
void
login_deny(struct session *s, bool with_password, struct error *err)
{
    error_set(err, ER_ACCESS_DENIED,
              "Access denied for user '%s'@'%s' (using password: %s)",
              s->wanted_user, s->who.host, with_password ? "YES" : "NO");
    log_ratelimited("connection %u: %s", s->entry.id, err->text);
    if (with_password)
        count_login_failure(s);
}

static void
deny_session_login(struct session *s, bool with_password)
{
    struct error err;

    login_deny(s, with_password, &err);
    session_fail(s, &err);
}

/* -1 with *err: the user has as many connections as it may. */
static int
check_connection_limit(struct session *s, const struct user *user,
                       struct error *err)
{
    if (user->max_connections == 0 ||
        registry_count_user(&s->server->registry, user->name, &s->entry) <
            user->max_connections)
        return 0;
    error_set(err, ER_USER_LIMIT_REACHED,
              "User '%s' has exceeded the 'max_user_connections' resource "
              "(current value: %u)",
              user->name, user->max_connections);
    log_ratelimited("connection %u: %s", s->entry.id, err->text);
    return -1;
}

int
login_admit(struct session *s, uint32_t privileges, bool by_password,
            struct error *err)
{
    struct sql_identity who = s->who;
    struct sql_session *sql;

    if (server_note_user(s->server, s, err) != 0)
        return -1;
    memcpy(who.user, s->wanted_user, sizeof(who.user));
    who.privileges = privileges;
    who.trusted = !by_password;
    if (s->tls) {
        who.tls_version = tls_stream_version(s->tls);
        who.tls_cipher = tls_stream_cipher(s->tls);
    }
    sql = sql_session_new(&s->server->node, &who, s->entry.id);
    if (!sql) {
        error_memory(err, "a session");
        return -1;
    }
    prepared_drop_all(s);
    sql_session_free(s->sql); /* from before COM_CHANGE_USER */
    s->sql = sql;
    s->who = who;
    /* The end of the round (count_memory) counts what has come already as this
     * user's. */
    memory_reserve(&s->input_reserved, who.user, 0);
    memory_reserve(&s->output_reserved, who.user, 0);
    s->by_password = by_password;
    registry_set_user(&s->server->registry, &s->entry, &who);
    return 0;
}

static void
accept_session_login(struct session *s, const char *info)
{
    struct span database = {s->wanted_database, strlen(s->wanted_database)};
    struct error err;

    if (database.size > 0 && sql_session_use(s->sql, database, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    session_refresh(s);
    reply_ok(&s->reply, 0, info);
    session_enter(s, SESSION_READY);
}

/* The keeper has checked the proof against its users; the server has the same
 * users without verifiers, but a reload may come between. */
int
login_admit_user(struct session *s, struct error *err)
{
    const struct user *user = users_named(s->server->users, s->wanted_user);

    if (!user) {
        login_deny(s, true, err);
        return -1;
    }
    s->guessed = false;
    backoff_succeeded(&s->server->backoff, s->address_key, s->wanted_user);
    if (check_connection_limit(s, user, err) != 0)
        return -1;
    return login_admit(s, user->privileges, true, err);
}

static void
finish_user_login(struct session *s, const char *info)
{
    struct error err;

    if (login_admit_user(s, &err) != 0)
        session_fail(s, &err);
    else
        accept_session_login(s, info);
}

static void
finish_trusted_login(struct session *s)
{
    struct error err;

    if (login_admit(s, PRIVILEGE_ALL, false, &err) != 0)
        session_fail(s, &err);
    else
        accept_session_login(s, "");
}

/* -1: the client has its error.  It judges the transport itself, for the
 * client's bits say only what it would like. */
static int
check_transport(struct session *s)
{
    struct error err;

    if (s->tls || s->transport == TRANSPORT_LOCAL ||
        !s->server->node.requires_tls)
        return 0;
    error_set(&err, ER_SECURE_TRANSPORT_REQUIRED,
              "Connections using insecure transport are prohibited while "
              "--require_secure_transport=ON: connect with TLS");
    session_fail(s, &err);
    return -1;
}

bool
login_is_trusted(const struct session *s)
{
    const char *own = s->server->own_name;

    if (s->transport != TRANSPORT_LOCAL ||
        (s->peer_uid != 0 && s->peer_uid != geteuid()))
        return false;
    return strcmp(s->wanted_user, "root") == 0 ||
           (*own && s->peer_uid == geteuid() &&
            strcmp(s->wanted_user, own) == 0);
}

static void
request_auth_switch(struct session *s)
{
    handshake_switch(&s->reply, s->nonce);
    session_enter(s, SESSION_SWITCH);
}

/* MariaDB's newer clients accept a self-signed certificate if the OK of a
 * native login proves that the server which showed it knows the password: so
 * the digest of the certificate goes to the keeper, and the proof comes back.
 */
static void
check_native(struct session *s, struct span answer)
{
    struct span name = {s->wanted_user, strlen(s->wanted_user)};
    /* An info that begins with 1 is the certificate's proof for MariaDB's
     * client. */
    char info[1 + AUTH_FINGERPRINT] = "\1";
    uint8_t shown[TLS_DIGEST];
    bool has_shown, valid;
    struct error err;

    if (answer.size == 0) {
        deny_session_login(s, false);
        return;
    }
    if (!may_verify_login(s))
        return;
    has_shown = s->tls && tls_stream_digest(s->tls, shown);
    if (keeper_check_native(s->server->keeper, name, s->nonce, answer,
                            has_shown ? shown : NULL, &valid, info + 1,
                            &err) != 0)
        session_fail(s, &err);
    else if (valid)
        finish_user_login(s, info[1] ? info : "");
    /* Asks again whoever it is if any account has sha2 alone: a difference
     * would tell which names exist. */
    else if (!users_any_sha2_only(s->server->users)) {
        deny_session_login(s, true);
    } else {
        s->guessed = true;
        request_auth_switch(s);
    }
}

/* A longer name is cut and then matches no user: their names are shorter than
 * this field. */
static void
keep_names(struct session *s, const struct handshake *h)
{
    snprintf(s->wanted_user, sizeof(s->wanted_user), "%.*s", (int)h->user.size,
             h->user.data);
    snprintf(s->wanted_database, sizeof(s->wanted_database), "%.*s",
             (int)h->database.size, h->database.data);
}

/* The request for TLS itself is ignored, since it may have been changed on its
 * way; the response that follows in TLS is complete.  MariaDB Connector/J 2.7
 * leaves out the SSL bit there, so only a missing TLS is an error. */
static int
check_tls_request(const struct session *s, uint32_t capabilities,
                  struct error *err)
{
    if (s->tls || !(capabilities & CAPABILITY_SSL))
        return 0;
    error_set(err, ER_HANDSHAKE,
              "Bad handshake: TLS was asked for, but not begun");
    return -1;
}

/* Checks the proof of the client's own plugin, or asks for another. */
static void
authenticate_session(struct session *s, const struct handshake *h)
{
    keep_names(s, h);
    if (login_is_trusted(s))
        finish_trusted_login(s);
    else if (span_is(h->plugin, AUTH_NATIVE))
        check_native(s, h->answer);
    else
        request_auth_switch(s); /* whatever plugin made the answer */
}

void
login_response(struct session *s, struct span packet)
{
    struct handshake h;
    struct error err;

    if (!s->tls && handshake_wants_tls(packet)) {
        session_start_tls(s);
        return;
    }
    if (handshake_decode(packet, &h, &err) != 0 ||
        check_tls_request(s, h.capabilities, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    s->reply.capabilities = h.capabilities;
    if (check_transport(s) != 0)
        return;
    if (span_is(h.plugin, PEER_PLUGIN)) {
        peer_login_begin(s);
        return;
    }
    authenticate_session(s, &h);
}

void
login_answer(struct session *s, struct span packet)
{
    struct span name = {s->wanted_user, strlen(s->wanted_user)};
    struct error err;
    bool valid;

    /* No password is an empty packet, or a lone NUL (libmysqlclient). */
    if (packet.size == 0 || (packet.size == 1 && packet.data[0] == '\0')) {
        deny_session_login(s, false);
        return;
    }
    if (!may_verify_login(s))
        return;
    if (keeper_check_sha2(s->server->keeper, name, s->nonce, packet, false,
                          &valid, &err) != 0) {
        session_fail(s, &err);
    } else if (valid) {
        handshake_fast_ok(&s->reply);
        finish_user_login(s, "");
    } else {
        deny_session_login(s, true);
    }
}

void
login_change(struct session *s, struct span packet)
{
    struct handshake h;
    struct error err;

    if (handshake_decode_change(packet, &h, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    if (check_transport(s) != 0)
        return;
    s->login_deadline_ms = clock_ms() + SESSION_LOGIN_MS;
    /* not made yet: some clients wait for the switch */
    if (h.answer.size == 0)
        h.plugin.size = 0;
    authenticate_session(s, &h);
}
