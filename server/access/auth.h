/*
 * auth.h - accounts, and proofs of a password as two of MySQL's plugins make
 * them.
 *
 * We keep SHA1(SHA1(password)) and SHA256(SHA256(password)): with these the
 * fast way of both plugins always succeeds or fails at once, so no password
 * ever travels (wire/PROTOCOL.md).  Comparisons are constant-time.
 */
#ifndef HW_AUTH_H
#define HW_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct error;

#define AUTH_NATIVE "mysql_native_password"
#define AUTH_SHA2   "caching_sha2_password"

enum {
    AUTH_NONCE = 20,
    AUTH_SHA1 = 20,
    AUTH_SHA256 = 32,
    AUTH_PASSWORD_MAX = 256,
    AUTH_TEXT = 128 /* of a verifier as written in the configuration file */
};

struct verifier {
    bool has_native; /* true: sha1 may prove the password, too */
    bool is_token;   /* of a bearer token of HTTP, which proves nothing else */
    uint8_t sha1[AUTH_SHA1];
    uint8_t sha256[AUTH_SHA256];
};

/* 20 random bytes of 1..127: some clients keep the nonce in C strings. */
int auth_nonce(uint8_t out[AUTH_NONCE], struct error *err);

int verifier_make(struct verifier *out, struct span password,
                  struct error *err);
/* A verifier that no password matches, derived from secret and name. */
int verifier_fake(struct verifier *out, const uint8_t secret[AUTH_SHA256],
                  struct span name, struct error *err);
/* "native+sha2 <hex> <hex>", "sha2 <hex>" or "token <hex>"; -1 says what is
 * wrong. */
int verifier_parse(struct verifier *out, const char *text, struct error *err);
int verifier_print(const struct verifier *v, char *out, size_t size);

/* Does the client's answer to the nonce prove the password? */
bool auth_check_native(const struct verifier *v,
                       const uint8_t nonce[AUTH_NONCE], struct span answer);
bool auth_check_sha2(const struct verifier *v, const uint8_t nonce[AUTH_NONCE],
                     struct span answer);

/* The answer that auth_check_sha2 expects, from the password itself. */
int auth_answer_sha2(struct span password, const uint8_t nonce[AUTH_NONCE],
                     uint8_t out[AUTH_SHA256], struct error *err);

/* A fingerprint of the server's certificate (this SHA-256), in hexadecimal
 * capitals: MariaDB's clients take it as proof that the server which showed the
 * certificate also knows the password. */
enum { AUTH_FINGERPRINT = 2 * AUTH_SHA256 + 1 };
int auth_fingerprint(const struct verifier *v, const uint8_t nonce[AUTH_NONCE],
                     const uint8_t certificate[AUTH_SHA256],
                     char out[AUTH_FINGERPRINT]);

/* The accounts of the configuration file: a set is built once, then only read;
 * a reload makes another. */
enum {
    USERS_MAX = 256,
    USERS_NAME_MAX = 32 /* MySQL's limit, too */
};

#define USERS_RESERVED "root" /* only the unix socket's: login.c */

struct user {
    char name[USERS_NAME_MAX + 1];
    struct verifier verifier; /* only in the keeper; elsewhere its kind alone */
    uint32_t privileges;      /* 0: the user does not exist */
    uint32_t max_connections; /* at once; 0: as many as there is room for */
};

struct users *users_new(struct error *err);
void users_free(struct users *users); /* NULL is fine */
/* -1 with *err: name used, unfit, or too many. */
int users_add(struct users *users, const struct user *user, struct error *err);
int users_check_name(const char *name, struct error *err);
size_t users_count(const struct users *users);
const struct user *users_at(const struct users *users, size_t i);
/* NULL: there is none. */
const struct user *users_named(const struct users *users, const char *name);
/* Does any user refuse the native plugin? */
bool users_any_sha2_only(const struct users *users);
/* For the keeper, the only process with verifiers: a copy of the user, or of a
 * made-up user whose password does not exist.  Both take the same path and
 * time.  -1 only without OpenSSL or memory. */
int users_find(const struct users *users, struct span name, struct user *out,
               struct error *err);

#endif
