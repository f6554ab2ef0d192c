/* login.c - see login.h. */
#include "login.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "handshake.h"
#include "log.h"
#include "prepared_commands.h"
#include "session.h"
#include "users.h"

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

/* Unknown users and wrong passwords look the same, here and in time. */
static void
deny(struct session *s, bool with_password)
{
    struct error err;

    error_set(&err, ER_ACCESS_DENIED,
              "Access denied for user '%s'@'%s' (using password: %s)",
              s->wanted_user, s->who.host, with_password ? "YES" : "NO");
    log_stranger("connection %u: %s", s->entry.id, err.text);
    session_fail(s, &err);
}

static void
admit(struct session *s, uint32_t privileges)
{
    struct sql_identity who = s->who;
    struct span database = {s->wanted_database, strlen(s->wanted_database)};
    struct sql_session *sql;
    struct error err;

    memcpy(who.user, s->wanted_user, sizeof(who.user));
    who.privileges = privileges;
    sql = sql_session_new(&s->server->node, &who, s->entry.id);
    if (!sql) {
        error_memory(&err, "a session");
        session_fail(s, &err);
        return;
    }
    prepared_drop_all(s);
    sql_session_free(s->sql); /* of before COM_CHANGE_USER */
    s->sql = sql;
    s->who = who;
    registry_set_user(&s->server->registry, &s->entry, who.user);
    if (database.size > 0 && sql_session_use(sql, database, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    session_refresh(s);
    reply_ok(&s->reply, 0, "");
    session_enter(s, SESSION_READY);
}

/* root, and whoever heapwired itself is, need no password on the unix socket,
 * as 'root' or, the latter, under their own name. */
static bool
is_trusted(const struct session *s)
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
ask_again(struct session *s)
{
    handshake_switch(&s->reply, s->nonce);
    session_enter(s, SESSION_SWITCH);
}

static void
check_native(struct session *s, struct span answer)
{
    struct span name = {s->wanted_user, strlen(s->wanted_user)};
    struct user user;
    struct error err;

    if (answer.size == 0) {
        deny(s, false);
        return;
    }
    if (users_find(s->server->users, name, &user, &err) != 0)
        session_fail(s, &err);
    else if (auth_check_native(&user.verifier, s->nonce, answer) &&
             user.privileges)
        admit(s, user.privileges);
    else if (users_any_sha2_only(s->server->users))
        ask_again(s); /* everybody, or it would tell who is one of them */
    else
        deny(s, true);
}

/* A longer name is nobody's: users' names are shorter than what is kept. */
static void
keep_names(struct session *s, const struct handshake *h)
{
    snprintf(s->wanted_user, sizeof(s->wanted_user), "%.*s", (int)h->user.size,
             h->user.data);
    snprintf(s->wanted_database, sizeof(s->wanted_database), "%.*s",
             (int)h->database.size, h->database.data);
}

void
login_response(struct session *s, struct span packet)
{
    struct handshake h;
    struct error err;

    if (handshake_decode(packet, &h, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    s->reply.capabilities = h.capabilities;
    keep_names(s, &h);
    if (is_trusted(s))
        admit(s, PRIVILEGE_ALL);
    else if (span_is(h.plugin, AUTH_NATIVE))
        check_native(s, h.answer);
    else
        ask_again(s); /* whatever the answer was made with */
}

void
login_answer(struct session *s, struct span packet)
{
    struct span name = {s->wanted_user, strlen(s->wanted_user)};
    struct user user;
    struct error err;

    /* No password is an empty packet, or a lone NUL (libmysqlclient). */
    if (packet.size == 0 || (packet.size == 1 && packet.data[0] == '\0')) {
        deny(s, false);
        return;
    }
    if (users_find(s->server->users, name, &user, &err) != 0) {
        session_fail(s, &err);
    } else if (auth_check_sha2(&user.verifier, s->nonce, packet) &&
               user.privileges) {
        handshake_fast_ok(&s->reply);
        admit(s, user.privileges);
    } else {
        deny(s, true);
    }
}

void
login_change(struct session *s, struct span packet)
{
    struct handshake h;
    struct error err;

    if (handshake_decode_change(packet, &h, &err) != 0 ||
        auth_nonce(s->nonce, &err) != 0) {
        session_fail(s, &err);
        return;
    }
    keep_names(s, &h);
    s->login_deadline_ms = clock_ms() + SESSION_LOGIN_MS;
    if (is_trusted(s))
        admit(s, PRIVILEGE_ALL);
    else
        ask_again(s);
}
