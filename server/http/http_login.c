/*
 * http_login.c - see http.h.
 *
 * Each request has the password itself, but it is proven to the keeper as
 * MySQL's clients prove it: the keeper answers no other question about
 * passwords, and none comes near it.  Asking it is most of what a small request
 * costs, so a connection remembers the header that it proved last, as a digest
 * under a key of its own.  Wrong logins count in backoff.h with those of the
 * MySQL port, for the same account and address.
 */
#include "http.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "errors.h"
#include "http_request.h"
#include "keeper.h"
#include "log.h"
#include "login.h"
#include "session.h"
#include "auth.h"

/* ---- the header Authorization ---- */

/* Is it "SCHEME rest"?  Then *value is the rest. */
static bool
has_scheme(struct span authorization, const char *scheme, struct span *value)
{
    size_t size = strlen(scheme);

    if (authorization.size <= size || authorization.data[size] != ' ' ||
        !span_is_nocase((struct span){authorization.data, size}, scheme))
        return false;
    *value = span_trim(
        (struct span){authorization.data + size, authorization.size - size});
    return true;
}

/* Reads base64 of "name:password". */
static bool
read_basic(struct span text, struct http_proof *out)
{
    const char *colon;
    int size;

    if (text.size == 0 || text.size % 4 != 0 || text.size > sizeof(out->bytes))
        return false;
    size = EVP_DecodeBlock((uint8_t *)out->bytes, (const uint8_t *)text.data,
                           (int)text.size);
    /* EVP_DecodeBlock counts the padding as bytes. */
    for (size_t i = 1; i <= 2 && text.data[text.size - i] == '='; i++)
        size--;
    colon = size > 0 ? memchr(out->bytes, ':', (size_t)size) : NULL;
    if (!colon)
        return false;
    out->name = (struct span){out->bytes, (size_t)(colon - out->bytes)};
    out->secret = (struct span){colon + 1, (size_t)size - out->name.size - 1};
    return true;
}

/* Reads "name.secret"; a name may have dots, so the last one divides. */
static bool
read_bearer(struct span text, struct http_proof *out)
{
    const char *dot = memrchr(text.data, '.', text.size);

    if (!dot)
        return false;
    out->token = true;
    out->name = (struct span){text.data, (size_t)(dot - text.data)};
    out->secret = (struct span){dot + 1, text.size - out->name.size - 1};
    return true;
}

bool
http_proof_read(struct span authorization, struct http_proof *out)
{
    struct span value;

    out->token = false;
    if (has_scheme(authorization, "Basic", &value))
        return read_basic(value, out);
    return has_scheme(authorization, "Bearer", &value) &&
           read_bearer(value, out);
}

/* What a login does that comes after wrong ones. */
enum http_wait {
    HTTP_WAIT,         /* waits for its turn */
    HTTP_WAIT_REFUSED, /* cannot wait, and is refused */
    HTTP_WAIT_NEVER
};

/* Proves the password to the keeper.  A name that s->wanted_user cut is no
 * account's. */
static int
check_http_password(struct session *s, const struct http_proof *proof,
                    bool *valid, struct error *err)
{
    struct span name = {s->wanted_user, strlen(s->wanted_user)};
    uint8_t answer[AUTH_SHA256];
    struct span given = {(const char *)answer, sizeof(answer)};
    int rc;

    /* A fresh nonce is also a new key for the digest of the header. */
    if (auth_nonce(s->nonce, err) != 0 ||
        auth_answer_sha2(proof->secret, s->nonce, answer, err) != 0)
        return -1;
    rc = keeper_check_sha2(s->server->keeper, name, s->nonce, given,
                           proof->token, valid, err);
    OPENSSL_cleanse(answer, sizeof(answer));
    return rc;
}

static int
log_in_http_user(struct session *s, const struct http_proof *proof,
                 enum http_wait wait, struct error *err)
{
    bool valid = false;
    enum login_admission admission = LOGIN_NOW;

    snprintf(s->wanted_user, sizeof(s->wanted_user), "%.*s",
             (int)proof->name.size, proof->name.data);
    if (proof->secret.size == 0) {
        login_deny(s, false, err);
        return -1;
    }
    if (wait != HTTP_WAIT_NEVER)
        admission = login_check_admission(s, wait == HTTP_WAIT, err);
    if (admission != LOGIN_NOW)
        return admission == LOGIN_LATER ? 1 : -1;
    if (check_http_password(s, proof, &valid, err) != 0)
        return -1;
    if (!valid || !span_is(proof->name, s->wanted_user)) { /* cut at a NUL */
        login_deny(s, true, err);
        return -1;
    }
    return login_admit_user(s, err);
}

/* Admits root and heapwired's own user on the unix socket.  Others are asked to
 * log in; that is no failure, as each browser begins without a login. */
static int
login_trusted(struct session *s, struct error *err)
{
    snprintf(s->wanted_user, sizeof(s->wanted_user), USERS_RESERVED);
    if (!login_is_trusted(s)) {
        s->wanted_user[0] = '\0';
        error_set(err, ER_ACCESS_DENIED,
                  "Access denied: send an account's name and password (curl -u "
                  "NAME), or its token (curl -H 'Authorization: Bearer "
                  "TOKEN')");
        return -1;
    }
    return login_admit(s, PRIVILEGE_ALL, false, err);
}

/* The nonce is the key: a new proof makes a new key. */
static bool
hash_authorization(const struct session *s, const struct http_request *request,
                   uint8_t out[AUTH_SHA256])
{
    struct span header = request->authorization;

    return HMAC(EVP_sha256(), s->nonce, sizeof(s->nonce),
                (const uint8_t *)header.data, header.size, out, NULL) != NULL;
}

/* Is the header, byte for byte, what the request before it proved? */
static bool
is_proven_header(const struct session *s, const struct http_request *request,
                 const struct http_proven *proven)
{
    uint8_t now[AUTH_SHA256];

    return proven->user && proven->load == s->server->loads &&
           request->authorization.size > 0 &&
           hash_authorization(s, request, now) &&
           CRYPTO_memcmp(now, proven->digest, sizeof(now)) == 0;
}

static int
readmit_proven_user(struct session *s, struct http_proven *proven,
                    struct error *err)
{
    /* Through login_admit_user() all the same: limits and privileges are those
     * of now. */
    memcpy(s->wanted_user, s->who.user, sizeof(s->wanted_user));
    proven->user = login_admit_user(s, err) == 0;
    return proven->user ? 0 : -1;
}

static int
prove_http_request(struct session *s, const struct http_request *request,
                   struct http_proven *proven, bool whole, struct error *err)
{
    struct http_proof proof;
    enum http_wait wait = whole ? HTTP_WAIT : HTTP_WAIT_REFUSED;
    bool known = proven->user;
    int rc = -1;

    if (s->transport == TRANSPORT_TCP && !s->tls &&
        s->server->http_requires_tls) {
        proven->user = false;
        error_set(err, ER_SECURE_TRANSPORT_REQUIRED,
                  "this port requires TLS: use https://");
        return -1;
    }
    if (is_proven_header(s, request, proven))
        return readmit_proven_user(s, proven, err);
    proven->user = false;
    if (request->authorization.size == 0)
        return login_trusted(s, err);
    if (!http_proof_read(request->authorization, &proof)) {
        s->wanted_user[0] = '\0';
        error_set(err, ER_ACCESS_DENIED,
                  "Access denied: Authorization must be 'Basic' with NAME:"
                  "PASSWORD in base64, or 'Bearer' with an account's token");
        log_ratelimited("connection %u: %s", s->entry.id, err->text);
    } else {
        /* This connection has just shown the right password of this user:
         * others who guess at the account must not lock it out. */
        if (known && span_is(proof.name, s->who.user))
            wait = HTTP_WAIT_NEVER;
        rc = log_in_http_user(s, &proof, wait, err);
        proven->load = s->server->loads;
        proven->user =
            rc == 0 && hash_authorization(s, request, proven->digest);
    }
    OPENSSL_cleanse(&proof, sizeof(proof));
    return rc;
}

int
http_login(struct session *s, const struct http_request *request,
           struct http_proven *proven, bool whole, struct error *err)
{
    static const struct span database = {"heapwire", 8};
    int rc = prove_http_request(s, request, proven, whole, err);

    if (rc != 0)
        return rc;
    return sql_session_use(s->sql, database, err);
}
