/* peer_identity.c - see peer_identity.h. */
#include "peer_identity.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "errors.h"

/* Of a secret that somebody thought up: a node at a false address is shown a
 * proof, against which guesses can be tried.  Takes 10 ms at the start. */
enum { ROUNDS = 20000 };

static const char salt_head[] = "heapwire cluster";

static int
draw(uint8_t *out, size_t size, struct error *err)
{
    if (RAND_bytes(out, (int)size) == 1)
        return 0;
    error_set(err, ER_UNKNOWN, "no random bytes for the cluster's key");
    return -1;
}

/* The cluster's name is part of it: nodes of another never agree. */
static int
derive(struct peer_identity *out, const char *secret, struct error *err)
{
    uint8_t salt[sizeof(salt_head) + PEER_CLUSTER_MAX];
    size_t name = strlen(out->cluster);

    memcpy(salt, salt_head, sizeof(salt_head));
    memcpy(salt + sizeof(salt_head), out->cluster, name);
    if (PKCS5_PBKDF2_HMAC(secret, (int)strlen(secret), salt,
                          (int)(sizeof(salt_head) + name), ROUNDS, EVP_sha256(),
                          PEER_KEY, out->key) == 1)
        return 0;
    error_set(err, ER_UNKNOWN, "OpenSSL cannot make the cluster's key");
    return -1;
}

static int
check(const char *cluster, const char *secret, struct error *err)
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
peer_identity_make(struct peer_identity *out, const char *cluster,
                   const char *secret, uint64_t node_id, struct error *err)
{
    struct peer_identity made = {.node_id = node_id};
    int rc = -1;

    cluster = cluster ? cluster : "";
    secret = secret ? secret : "";
    if (check(cluster, secret, err) != 0)
        return -1;
    memcpy(made.cluster, cluster, strlen(cluster) + 1);
    if ((*secret ? derive(&made, secret, err)
                 : draw(made.key, sizeof(made.key), err)) != 0 ||
        draw(made.incarnation, sizeof(made.incarnation), err) != 0)
        goto out;
    *out = made;
    rc = 0;
out:
    OPENSSL_cleanse(&made, sizeof(made));
    return rc;
}
