/*
 * keeper_wire.h - what heapwired and its keeper say to each other: a closed
 * list of questions, each with one answer, over a pair of sockets.
 *
 * A message is a u32 of its size and so many bytes.  A question begins with its
 * enum keeper_call; an answer with a u8: 0, and what the call gives, or 1, and
 * a u16 error code and a text.  Both ends are of one executable.
 */
#ifndef HW_KEEPER_WIRE_H
#define HW_KEEPER_WIRE_H

#include <openssl/types.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "reader.h"

struct config;
struct error;

#define KEEPER_NAME "heapwire-keeper" /* in place of argv[0] */

enum {
    KEEPER_FD = 3,
    KEEPER_QUESTION_MAX = 2048,
    KEEPER_ANSWER_MAX = 8 * 1024 * 1024, /* PEERS_MAX peers, USERS_MAX users */
    KEEPER_ANSWER_MS = 2000,             /* limit for an answer, */
    /* and for one that needs files: a reload, on the loop, asks for two, which
     * must stay well below heapwire-run's heartbeat. */
    KEEPER_FILES_MS = 5000,
    KEEPER_SIGNATURE_MAX = 1024 /* RSA of 8192 bits */
};

enum keeper_call {
    KEEPER_LOAD, /* cluster's name: faults; key's number, configuration */
    KEEPER_CERTIFICATE,   /* state directory: number, note, certificates */
    KEEPER_CHECK_NATIVE,  /* nonce, name, answer, certificate's digest or "":
                             right or not, fingerprint or "" */
    KEEPER_CHECK_SHA2,    /* nonce, name, answer, token or password: right or
                             not */
    KEEPER_PROVE_PEER,    /* label, what was said: proof */
    KEEPER_CHECK_PEER,    /* proof, label, what was said: right or not */
    KEEPER_SIGN,          /* certificate's number, padding, digest: signature */
    KEEPER_ETCD_PASSWORD, /* nothing: text */
    KEEPER_BECOME,        /* uid, gid */
    KEEPER_CALLS
};

/* -1 with errno: ETIMEDOUT, EPIPE if the other end is gone, EMSGSIZE; or
 * ENOMEM, after which the next message can come.  timeout_ms is for the whole
 * message; -1: no limit until its first byte. */
int keeper_send(int fd, const struct buffer *message, int timeout_ms);
int keeper_receive(int fd, struct buffer *message, int timeout_ms);

/* The configuration without its secrets: the cluster's secret, etcd's password,
 * and the users' verifiers. */
void keeper_put_config(struct buffer *out, const struct config *config);
/* Into a zeroed one; -1 with *err, and then config_fini it. */
int keeper_read_config(struct reader *in, struct config *config,
                       struct error *err);

/* ---- keeper_key.c ----
 * An OpenSSL private key that signs by asking the keeper.  RSA and elliptic
 * curves: OpenSSL's own methods, except for signing. */

struct keeper_signer {
    /* Signs with the key of the certificate of that number; padding is one of
     * RSA's, or 0. *size: its room, then what was written.  -1 with *err. */
    int (*sign)(struct keeper_signer *signer, uint32_t number, int padding,
                struct span digest, uint8_t *out, size_t *size,
                struct error *err);
};

/* For the certificate of that number and this public key; borrows the signer
 * for the key's life.  NULL with *err. */
EVP_PKEY *keeper_key_new(struct keeper_signer *signer, uint32_t number,
                         EVP_PKEY *public, struct error *err);

#endif
