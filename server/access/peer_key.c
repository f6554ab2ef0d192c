/*
 * peer_key.c - see peer_key.h.
 *
 * The cluster's secret is stretched once, at the load of the configuration;
 * every proof after that is one HMAC. Each purpose has a label of its own
 * before the text, so that a proof of one end is never one of the other.
 */
#include "peer_key.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "errors.h"

int
peer_identity_make(struct peer_identity *out, const struct peer_prover *prover,
                   uint32_t key_number, uint64_t node_id, struct error *err)
{
    struct peer_identity made = {
        .prover = *prover, .key_number = key_number, .node_id = node_id};

    if (RAND_bytes(made.incarnation, PEER_INCARNATION) != 1) {
        error_set(err, ER_UNKNOWN,
                  "no random bytes for this node's incarnation");
        return -1;
    }
    *out = made;
    return 0;
}

/* The secret may be a text that people can guess, and a node that is led to a
 * false address shows a proof against which guesses can be tried.  20000 rounds
 * take 10 ms, at the start. */
enum { ROUNDS = 20000, LABEL = 24 /* bytes, of which NULs fill the end */ };

static const char salt_head[] = "heapwire cluster";
static const char labels[PEER_LABELS][LABEL] = {
    [PEER_CLIENT] = "heapwire peer client",
    [PEER_SERVER] = "heapwire peer server",
    [PEER_SESSION] = "heapwire peer session"};

/* The cluster's name is part of the key, so nodes of another cluster never
 * agree.  The NUL keeps head and name apart. */
static int
derive_cluster_key(struct peer_key *out, const char *cluster,
                   const char *secret, struct error *err)
{
    char salt[sizeof(salt_head) + PEER_CLUSTER_MAX + 1];
    int size = snprintf(salt, sizeof(salt), "%s%c%s", salt_head, '\0', cluster);

    if (PKCS5_PBKDF2_HMAC(secret, (int)strlen(secret), (const uint8_t *)salt,
                          size, ROUNDS, EVP_sha256(), PEER_KEY,
                          out->bytes) == 1)
        return 0;
    error_set(err, ER_UNKNOWN, "OpenSSL cannot make the cluster's key");
    return -1;
}

static int
check_cluster_secret(const char *cluster, const char *secret, struct error *err)
{
    if (strlen(cluster) > PEER_CLUSTER_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "the cluster's name is longer than %d bytes",
                  PEER_CLUSTER_MAX);
        return -1;
    }
    if (!*secret)
        return 0;
    if (strlen(secret) < PEER_SECRET_MIN) {
        error_set(err, ER_WRONG_VALUE,
                  "the cluster's secret is shorter than %d bytes: make one "
                  "with heapwire-passwd --cluster-secret",
                  PEER_SECRET_MIN);
        return -1;
    }
    if (strlen(secret) > PEER_SECRET_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "the cluster's secret is longer than %d bytes",
                  PEER_SECRET_MAX);
        return -1;
    }
    return 0;
}

int
peer_key_make(struct peer_key *out, const char *cluster, const char *secret,
              struct error *err)
{
    if (check_cluster_secret(cluster, secret, err) != 0)
        return -1;
    if (*secret)
        return derive_cluster_key(out, cluster, secret, err);
    if (RAND_bytes(out->bytes, PEER_KEY) == 1)
        return 0;
    error_set(err, ER_UNKNOWN, "no random bytes for the cluster's key");
    return -1;
}

int
peer_mac(const uint8_t key[PEER_KEY], const void *data, size_t size,
         uint8_t out[PEER_PROOF], struct error *err)
{
    unsigned written = 0;

    if (HMAC(EVP_sha256(), key, PEER_KEY, data, size, out, &written) &&
        written == PEER_PROOF)
        return 0;
    error_set(err, ER_UNKNOWN, "OpenSSL cannot compute HMAC-SHA256");
    return -1;
}

int
peer_key_prove(const struct peer_key *key, enum peer_label label,
               struct span transcript, uint8_t out[PEER_PROOF],
               struct error *err)
{
    uint8_t text[LABEL + PEER_TRANSCRIPT_MAX];

    if (label >= PEER_LABELS || transcript.size > PEER_TRANSCRIPT_MAX) {
        error_set(err, ER_UNKNOWN, "the cluster's key has no such purpose");
        return -1;
    }
    memcpy(text, labels[label], LABEL);
    if (transcript.size > 0)
        memcpy(text + LABEL, transcript.data, transcript.size);
    return peer_mac(key->bytes, text, LABEL + transcript.size, out, err);
}

int
peer_key_check(const struct peer_key *key, enum peer_label label,
               struct span transcript, const uint8_t proof[PEER_PROOF],
               bool *valid, struct error *err)
{
    uint8_t made[PEER_PROOF];
    int rc = peer_key_prove(key, label, transcript, made, err);

    if (rc == 0)
        *valid = CRYPTO_memcmp(made, proof, PEER_PROOF) == 0;
    OPENSSL_cleanse(made, sizeof(made));
    return rc;
}
