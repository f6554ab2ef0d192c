/*
 * auth.c - see auth.h.
 *
 * Verifiers have no salt: MySQL's plugins define them, and clients compute
 * their proofs from these very digests.  So a verifier is worth as much as the
 * password to whoever sees one login, and only the keeper keeps any.  Names
 * that do not exist are checked against a made-up verifier, so that neither the
 * answer nor its time tells which names do.
 */
#include "auth.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "ascii.h"
#include "errors.h"
#include "memory.h"

enum { DIGEST_MAX = AUTH_SHA256, INPUT_MAX = AUTH_NONCE + DIGEST_MAX };

static const char auth_forms[] =
    "'native+sha2 <40 hex digits> <64 hex digits>', 'sha2 <64 hex digits>' or "
    "'token <64 hex digits>', as heapwire-passwd writes them";

int
auth_nonce(uint8_t out[AUTH_NONCE], struct error *err)
{
    uint8_t pool[4 * AUTH_NONCE];
    size_t have = 0;

    while (have < AUTH_NONCE) {
        if (RAND_bytes(pool, sizeof(pool)) != 1) {
            error_set(err, ER_UNKNOWN, "no random bytes for a login");
            return -1;
        }
        /* An even draw from 1..127: zeros are left out, not replaced. */
        for (size_t i = 0; i < sizeof(pool) && have < AUTH_NONCE; i++)
            if (pool[i] & 0x7f)
                out[have++] = pool[i] & 0x7f;
    }
    return 0;
}

static bool
hash_auth_bytes(const EVP_MD *kind, const void *data, size_t size, uint8_t *out)
{
    return EVP_Digest(data, size, out, NULL, kind, NULL) == 1;
}

/* kind(kind(data)) */
static bool
digest_twice(const EVP_MD *kind, const void *data, size_t size, uint8_t *out)
{
    uint8_t once[DIGEST_MAX];
    bool ok = hash_auth_bytes(kind, data, size, once) &&
              hash_auth_bytes(kind, once, (size_t)EVP_MD_get_size(kind), out);

    OPENSSL_cleanse(once, sizeof(once));
    return ok;
}

int
verifier_make(struct verifier *out, struct span password, struct error *err)
{
    struct verifier v = {.has_native = true};

    if (!digest_twice(EVP_sha1(), password.data, password.size, v.sha1) ||
        !digest_twice(EVP_sha256(), password.data, password.size, v.sha256)) {
        error_set(err, ER_UNKNOWN, "OpenSSL cannot compute SHA-1 or SHA-256");
        return -1;
    }
    *out = v;
    return 0;
}

int
verifier_fake(struct verifier *out, const uint8_t secret[AUTH_SHA256],
              struct span name, struct error *err)
{
    char text[AUTH_SHA256 + 64];
    /* 64 bytes suffice to tell names apart, as known ones have at most 32. */
    size_t size = name.size < 64 ? name.size : 64;

    memcpy(text, secret, AUTH_SHA256);
    if (size)
        memcpy(text + AUTH_SHA256, name.data, size);
    return verifier_make(out, (struct span){text, AUTH_SHA256 + size}, err);
}

/* Reads the next word of *text as size bytes in hexadecimal; -1: it is none. */
static int
parse_verifier_hex(const char **text, uint8_t *out, size_t size)
{
    const char *p = *text;
    int high, low;

    p += strspn(p, " \t");
    for (size_t i = 0; i < size; i++, p += 2) {
        high = hex_digit(p[0]);
        low = high < 0 ? -1 : hex_digit(p[1]);
        if (low < 0)
            return -1;
        out[i] = (uint8_t)(high << 4 | low);
    }
    if (*p && *p != ' ' && *p != '\t')
        return -1;
    *text = p;
    return 0;
}

static bool
accept_verifier_keyword(const char **text, const char *word)
{
    size_t size = strlen(word);

    /* strchr() finds the end of the text, too. */
    if (strncmp(*text, word, size) != 0 || !strchr(" \t", (*text)[size]))
        return false;
    *text += size;
    return true;
}

int
verifier_parse(struct verifier *out, const char *text, struct error *err)
{
    struct verifier v = {.has_native =
                             accept_verifier_keyword(&text, "native+sha2")};

    v.is_token = !v.has_native && accept_verifier_keyword(&text, "token");
    if ((!v.has_native && !v.is_token &&
         !accept_verifier_keyword(&text, "sha2")) ||
        (v.has_native &&
         parse_verifier_hex(&text, v.sha1, sizeof(v.sha1)) != 0) ||
        parse_verifier_hex(&text, v.sha256, sizeof(v.sha256)) != 0 ||
        text[strspn(text, " \t")]) {
        error_set(err, ER_WRONG_VALUE, "must be %s", auth_forms);
        return -1;
    }
    *out = v;
    return 0;
}

static void
print_hex(char *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

int
verifier_print(const struct verifier *v, char *out, size_t size)
{
    char sha1[2 * AUTH_SHA1 + 1], sha256[2 * AUTH_SHA256 + 1];
    int n;

    print_hex(sha1, v->sha1, sizeof(v->sha1));
    print_hex(sha256, v->sha256, sizeof(v->sha256));
    if (v->has_native)
        n = snprintf(out, size, "native+sha2 %s %s", sha1, sha256);
    else
        n = snprintf(out, size, "%s %s", v->is_token ? "token" : "sha2",
                     sha256);
    return n > 0 && (size_t)n < size ? 0 : -1;
}

/* answer = H(password) XOR H(input), stored = H(H(password)): so H(answer XOR
 * H(input)) must be stored.  The plugins differ in H and in the order of the
 * two parts of the input. */
static bool
verify_auth_answer(const EVP_MD *kind, const uint8_t *input, size_t input_size,
                   const uint8_t *stored, struct span answer)
{
    size_t size = (size_t)EVP_MD_get_size(kind);
    uint8_t mask[DIGEST_MAX], found[DIGEST_MAX];
    bool ok = false;

    if (answer.size != size || !hash_auth_bytes(kind, input, input_size, mask))
        return false;
    for (size_t i = 0; i < size; i++)
        mask[i] ^= (uint8_t)answer.data[i];
    if (hash_auth_bytes(kind, mask, size, found))
        ok = CRYPTO_memcmp(found, stored, size) == 0;
    OPENSSL_cleanse(mask, sizeof(mask));
    return ok;
}

bool
auth_check_native(const struct verifier *v, const uint8_t nonce[AUTH_NONCE],
                  struct span answer)
{
    uint8_t input[INPUT_MAX];

    memcpy(input, nonce, AUTH_NONCE);
    memcpy(input + AUTH_NONCE, v->sha1, AUTH_SHA1);
    /* has_native comes last: an account without it takes the same time. */
    return verify_auth_answer(EVP_sha1(), input, AUTH_NONCE + AUTH_SHA1,
                              v->sha1, answer) &&
           v->has_native;
}

bool
auth_check_sha2(const struct verifier *v, const uint8_t nonce[AUTH_NONCE],
                struct span answer)
{
    uint8_t input[INPUT_MAX];

    memcpy(input, v->sha256, AUTH_SHA256);
    memcpy(input + AUTH_SHA256, nonce, AUTH_NONCE);
    return verify_auth_answer(EVP_sha256(), input, AUTH_SHA256 + AUTH_NONCE,
                              v->sha256, answer);
}

int
auth_answer_sha2(struct span password, const uint8_t nonce[AUTH_NONCE],
                 uint8_t out[AUTH_SHA256], struct error *err)
{
    uint8_t input[INPUT_MAX], once[AUTH_SHA256], mask[AUTH_SHA256];
    int rc = -1;

    memcpy(input + AUTH_SHA256, nonce, AUTH_NONCE);
    if (hash_auth_bytes(EVP_sha256(), password.data, password.size, once) &&
        hash_auth_bytes(EVP_sha256(), once, sizeof(once), input) &&
        hash_auth_bytes(EVP_sha256(), input, AUTH_SHA256 + AUTH_NONCE, mask)) {
        for (size_t i = 0; i < AUTH_SHA256; i++)
            out[i] = once[i] ^ mask[i];
        rc = 0;
    } else {
        error_set(err, ER_UNKNOWN, "OpenSSL cannot compute SHA-256");
    }
    OPENSSL_cleanse(once, sizeof(once));
    OPENSSL_cleanse(input, sizeof(input));
    return rc;
}

int
auth_fingerprint(const struct verifier *v, const uint8_t nonce[AUTH_NONCE],
                 const uint8_t certificate[AUTH_SHA256],
                 char out[AUTH_FINGERPRINT])
{
    uint8_t input[AUTH_SHA1 + AUTH_NONCE + AUTH_SHA256], found[AUTH_SHA256];
    uint8_t *at = input;

    /* What MariaDB's clients compute since 11.4: verifier, nonce, certificate.
     */
    memcpy(at, v->sha1, AUTH_SHA1);
    memcpy(at += AUTH_SHA1, nonce, AUTH_NONCE);
    memcpy(at + AUTH_NONCE, certificate, AUTH_SHA256);
    if (!hash_auth_bytes(EVP_sha256(), input, sizeof(input), found))
        return -1;
    for (size_t i = 0; i < sizeof(found); i++)
        snprintf(out + 2 * i, 3, "%02X", found[i]);
    return 0;
}

/* ---- accounts ---- */

struct users {
    uint8_t secret[AUTH_SHA256]; /* makes the verifiers of unknown users */
    size_t count;
    struct user list[USERS_MAX];
};

struct users *
users_new(struct error *err)
{
    struct users *users = mem_zalloc(1, sizeof(*users));

    if (!users) {
        error_memory(err, "the accounts");
        return NULL;
    }
    if (RAND_bytes(users->secret, sizeof(users->secret)) != 1) {
        error_set(err, ER_UNKNOWN, "no random bytes for the accounts");
        users_free(users);
        return NULL;
    }
    return users;
}

void
users_free(struct users *users)
{
    if (!users)
        return;
    OPENSSL_cleanse(users, sizeof(*users));
    mem_free(users);
}

int
users_check_name(const char *name, struct error *err)
{
    size_t size = strlen(name);
    bool fits = size > 0 && size <= USERS_NAME_MAX;

    if (strcmp(name, USERS_RESERVED) == 0) {
        error_set(err, ER_WRONG_VALUE,
                  "the name '" USERS_RESERVED
                  "' is reserved for logins over the unix socket without a "
                  "password; choose another "
                  "one");
        return -1;
    }

    for (size_t i = 0; fits && i < size; i++)
        fits = isalnum((unsigned char)name[i]) || strchr("_.@-", name[i]);
    if (!fits) {
        error_set(err, ER_WRONG_VALUE,
                  "a user's name must be 1 to %d letters, digits, or any of "
                  "'_.@-'",
                  USERS_NAME_MAX);
        return -1;
    }
    return 0;
}

int
users_add(struct users *users, const struct user *user, struct error *err)
{
    struct span name = {user->name, strlen(user->name)};

    if (users_check_name(user->name, err) != 0)
        return -1;
    if (users->count == USERS_MAX) {
        error_set(err, ER_WRONG_VALUE, "more than %d users", USERS_MAX);
        return -1;
    }
    for (size_t i = 0; i < users->count; i++)
        if (span_is(name, users->list[i].name)) {
            error_set(err, ER_WRONG_VALUE, "user '%s' exists already",
                      user->name);
            return -1;
        }
    users->list[users->count++] = *user;
    return 0;
}

size_t
users_count(const struct users *users)
{
    return users->count;
}

const struct user *
users_at(const struct users *users, size_t i)
{
    return &users->list[i];
}

const struct user *
users_named(const struct users *users, const char *name)
{
    for (size_t i = 0; i < users->count; i++)
        if (strcmp(users->list[i].name, name) == 0)
            return &users->list[i];
    return NULL;
}

bool
users_any_sha2_only(const struct users *users)
{
    for (size_t i = 0; i < users->count; i++)
        if (!users->list[i].verifier.has_native &&
            !users->list[i].verifier.is_token)
            return true;
    return false;
}

/* No early exit, and the fake is always made: an unknown name must not answer
 * sooner or later than a known one. */
int
users_find(const struct users *users, struct span name, struct user *out,
           struct error *err)
{
    struct user found = {.privileges = 0};

    if (verifier_fake(&found.verifier, users->secret, name, err) != 0)
        return -1;
    for (size_t i = 0; i < users->count; i++)
        if (span_is(name, users->list[i].name))
            found = users->list[i];
    *out = found;
    return 0;
}
