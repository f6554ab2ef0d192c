/*
 * peer_login.c - see peer_login.h.
 *
 * Another node logs in without a user: it proves that it knows the cluster's
 * secret (access/peer_proof.h), and then sends statements in envelopes that are
 * sealed with a key of this connection.  The caller's privileges stand in the
 * envelope and are believed, because the seal proves that a node of the cluster
 * wrote them.  Envelopes have rising numbers, so a recorded one cannot be sent
 * again.
 */
#include "peer_login.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "arena.h"
#include "audit.h"
#include "clock.h"
#include "ascii.h"
#include "errors.h"
#include "handshake.h"
#include "log.h"
#include "memory.h"
#include "peer_proof.h"
#include "session.h"
#include "tls_stream.h"

_Static_assert((int)TLS_FINGERPRINT == (int)PEER_FINGERPRINT, "both SHA-1");

struct peer_session {
    struct session *session;
    unsigned generation; /* the server's when it logged in */
    struct peer_transcript transcript;
    struct peer_party node; /* the other node */
    uint8_t key[PEER_KEY];  /* of this connection */
    struct peer_channel channel;

    /* Belongs to the running statement, which may be off the loop: */
    uint64_t next; /* the least number that the next envelope may have */
    bool broken;
    struct sql_identity caller;
    uint32_t caller_connection;
    /* may be cut: then callers of a like name share slots */
    char owner[2 * SQL_NAME_MAX];
    struct audit audit;
};

/* ---- envelopes ---- */

/* Decodes into the arena. */
static int
decode_envelope_hex(struct span hex, struct arena *arena, struct span *out,
                    struct error *err)
{
    bool fits = hex.size % 2 == 0 && hex.size / 2 <= PEER_ENVELOPE_MAX;
    size_t size = fits ? hex.size / 2 : 0;
    char *bytes = arena_alloc(arena, size + 1);
    int high, low;

    if (!bytes) {
        error_memory(err, "a forwarded statement");
        return -1;
    }
    for (size_t i = 0; fits && i < size; i++) {
        high = lower_hex_digit(hex.data[2 * i]);
        low = lower_hex_digit(hex.data[2 * i + 1]);
        fits = high >= 0 && low >= 0;
        if (fits)
            bytes[i] = (char)(high << 4 | low);
    }
    *out = (struct span){bytes, size};
    if (fits)
        return 0;
    error_set(err, ER_MALFORMED_PACKET,
              "Malformed communication packet: a forwarded statement is "
              "pairs of hexadecimal digits, of at most %d bytes",
              PEER_ENVELOPE_MAX);
    return -1;
}

static int
read_envelope(struct peer_session *peer, struct span hex, struct arena *arena,
              struct peer_forwarded *out, struct error *err)
{
    struct peer_envelope envelope;
    struct span bytes;

    if (decode_envelope_hex(hex, arena, &bytes, err) != 0 ||
        peer_envelope_open(bytes, peer->key, &envelope, err) != 0)
        return -1;
    /* UINT64_MAX would leave no number for the next one. */
    if (envelope.sequence < peer->next || envelope.sequence == UINT64_MAX) {
        error_set(err, ER_ACCESS_DENIED,
                  "Access denied: a forwarded statement came twice, or out of "
                  "order");
        return -1;
    }
    peer->next = envelope.sequence + 1;
    *out = envelope.forwarded;
    out->origin = peer->node.id;
    return 0;
}

/* Shows the caller's host as "10.1.2.3 at node 10001". */
static void
keep_caller(struct peer_session *peer, const struct peer_forwarded *f)
{
    peer->caller = f->caller;
    snprintf(peer->caller.host, sizeof(peer->caller.host),
             "%.40s at node %" PRIu64, f->caller.host, f->origin);
    peer->caller_connection = f->connection_id;
}

/* Writes the script as a statement that the caller could have sent to this
 * node, for the audit log. */
static int
print_script(const struct peer_session *peer, struct span script,
             struct arena *arena, struct span *out, struct error *err)
{
    /* Each byte may need a backslash; 64 are for what stands around it. */
    size_t size, max = 2 * script.size + 64;
    char *text = arena_alloc(arena, max);

    if (!text) {
        error_memory(err, "a forwarded statement");
        return -1;
    }
    size = (size_t)snprintf(text, max, "ADMIN EXECUTE ON %" PRIu32 " '",
                            peer->session->server->node.id);
    for (size_t i = 0; i < script.size; i++) {
        if (script.data[i] == '\'' || script.data[i] == '\\')
            text[size++] = '\\';
        text[size++] = script.data[i];
    }
    text[size++] = '\'';
    *out = (struct span){text, size};
    return 0;
}

/* Records what is run here: in the audit log, unless this node asks itself and
 * has the record already, and in the list of sessions. */
static int
record_forwarded_text(struct peer_session *peer, const struct peer_forwarded *f,
                      struct arena *arena, struct error *err)
{
    struct session *s = peer->session;
    struct span text = f->text;

    audit_fini(&peer->audit);
    if (f->verb == PEER_SCRIPT &&
        print_script(peer, f->text, arena, &text, err) != 0)
        return -1;
    if (f->origin != s->server->node.id)
        audit_begin(&peer->audit, text, NULL, NULL);
    registry_set_command(&s->server->registry, &s->entry, "Query", "executing",
                         text, clock_ms());
    return 0;
}

static int
open_envelope(void *arg, struct span hex, struct arena *arena,
              struct peer_forwarded *out, struct error *err)
{
    struct peer_session *peer = arg;

    if (read_envelope(peer, hex, arena, out, err) != 0) {
        log_ratelimited("connection %u, node %" PRIu64 ": %s",
                        peer->session->entry.id, peer->node.id, err->text);
        /* No honest node sends such an envelope: the session ends with the
         * statement. */
        peer->broken = true;
        return -1;
    }
    keep_caller(peer, out);
    return record_forwarded_text(peer, out, arena, err);
}

void
peer_session_audit(struct peer_session *peer, struct audit *audit)
{
    audit_fini(audit);
    *audit = peer->audit;
    peer->audit.text = NULL;
}

uint32_t
peer_session_caller(const struct peer_session *peer, struct sql_identity *who)
{
    *who = peer->caller;
    return peer->caller_connection;
}

const char *
peer_session_owner(struct peer_session *peer)
{
    /* A user of another node is not the user of this name here. */
    snprintf(peer->owner, sizeof(peer->owner), "%s of %s", peer->caller.user,
             peer->session->who.user);
    return peer->owner;
}

bool
peer_session_is_broken(const struct peer_session *peer)
{
    return peer && peer->broken;
}

bool
peer_session_is_outdated(const struct peer_session *peer)
{
    return peer && peer->generation != peer->session->server->generation;
}

/* ---- login ---- */

static void
refuse_peer_session(struct session *s, const struct error *err)
{
    log_ratelimited("connection %u, of a node at %s: %s", s->entry.id,
                    s->who.host, err->text);
    session_fail(s, err);
}

static int
begin_peer_login(struct session *s, struct span *challenge, struct error *err)
{
    struct server *server = s->server;

    if (!server->has_identity) {
        error_set(err, ER_ACCESS_DENIED,
                  "Access denied: this node belongs to no cluster");
        return -1;
    }
    s->peer = mem_zalloc(1, sizeof(*s->peer));
    if (!s->peer) {
        error_memory(err, "a session");
        return -1;
    }
    s->peer->session = s;
    s->peer->generation = server->generation;
    s->peer->next = 1;
    s->peer->channel =
        (struct peer_channel){.arg = s->peer, .open = open_envelope};
    return peer_challenge_make(&s->peer->transcript, &server->identity,
                               challenge, err);
}

void
peer_login_begin(struct session *s)
{
    struct span challenge;
    struct error err;

    if (begin_peer_login(s, &challenge, &err) != 0) {
        refuse_peer_session(s, &err);
        return;
    }
    handshake_switch_to(&s->reply, PEER_PLUGIN, challenge);
    session_enter(s, SESSION_PEER);
}

/* Makes this end's own proof, and the connection's key. */
static int
make_welcome(struct session *s, struct span *out, struct error *err)
{
    const struct peer_identity *self = &s->server->identity;
    struct peer_welcome welcome = {.version = HW_VERSION};

    if (s->tls) {
        welcome.has_fingerprint =
            tls_stream_fingerprint(s->tls, welcome.fingerprint);
        if (!welcome.has_fingerprint) {
            error_set(err, ER_UNKNOWN,
                      "OpenSSL gives no fingerprint of the certificate");
            return -1;
        }
    }
    if (peer_welcome_make(&s->peer->transcript, self, &welcome, out, err) != 0)
        return -1;
    return peer_session_key(&s->peer->transcript, self, s->peer->key, err);
}

/* From here on the session may forward, and do nothing else: it has no
 * privileges of its own. */
static int
admit_peer_session(struct session *s, struct error *err)
{
    struct sql_identity who = s->who;

    if (server_note_peer(s->server, s, err) != 0)
        return -1;
    snprintf(who.user, sizeof(who.user), "node %" PRIu64, s->peer->node.id);
    who.privileges = 0;
    s->sql = sql_session_new(&s->server->node, &who, s->entry.id);
    if (!s->sql) {
        error_memory(err, "a session");
        return -1;
    }
    sql_session_set_channel(s->sql, &s->peer->channel);
    s->who = who;
    registry_set_user(&s->server->registry, &s->entry, &who);
    return 0;
}

/* A node asks itself over its own socket, which no other node can reach: what
 * comes from there is already in the audit log of this node.  Anybody else with
 * this node's id is an impostor or a copied configuration. */
static int
check_self(const struct session *s, struct error *err)
{
    bool own = s->transport == TRANSPORT_LOCAL &&
               (s->peer_uid == 0 || s->peer_uid == geteuid());

    if (own || s->peer->node.id != s->server->identity.node_id)
        return 0;
    error_set(err, ER_UNKNOWN,
              "id mismatch: another process claims to be this node, %" PRIu64,
              s->peer->node.id);
    return -1;
}

void
peer_login_answer(struct session *s, struct span packet)
{
    struct peer_session *peer = s->peer;
    struct span welcome;
    struct error err;

    if (peer_hello_check(&peer->transcript, &s->server->identity, packet,
                         &peer->node, &err) != 0 ||
        check_self(s, &err) != 0 || make_welcome(s, &welcome, &err) != 0 ||
        admit_peer_session(s, &err) != 0) {
        refuse_peer_session(s, &err);
        return;
    }
    handshake_more(&s->reply, welcome);
    /* The proofs are made; the transcript has no further use. */
    OPENSSL_cleanse(&peer->transcript, sizeof(peer->transcript));
    session_refresh(s);
    reply_ok(&s->reply, 0, "");
    session_enter(s, SESSION_READY);
}

void
peer_session_free(struct peer_session *peer)
{
    if (!peer)
        return;
    audit_fini(&peer->audit);
    OPENSSL_cleanse(peer, sizeof(*peer));
    mem_free(peer);
}
