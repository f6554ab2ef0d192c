/*
 * keeper.h - heapwired's end of its keeper: the process that has the secrets.
 *
 * A child of heapwired reads, keeps and uses passwords' verifiers, the
 * cluster's secret and key, and the key of TLS. It answers a closed list of
 * questions, so the process that runs SQL never has them in its memory.  Calls
 * may come from any thread, one runs at a time, and each ends within
 * KEEPER_ANSWER_MS (KEEPER_FILES_MS if it reads files). They take tens of
 * microseconds, so the loop waits for them.  A late keeper is killed; until
 * there is another, calls fail at once.
 */
#ifndef HW_KEEPER_H
#define HW_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "auth.h"
#include "peer_key.h"
#include "reader.h"

struct account;
struct arguments;
struct certificate;
struct config;
struct config_faults;
struct error;
struct keeper;

/* Before there is a secret in memory, or a thread.  argv: heapwired's own, from
 * which the keeper reads its configuration; borrowed.  NULL with *err. */
struct keeper *keeper_start(char **argv, struct error *err);
/* Replaces a keeper that has ended, or ends it now; the new one knows nothing
 * before keeper_load.  -1 with *err: there is none. */
int keeper_restart(struct keeper *keeper, struct error *err);
void keeper_stop(struct keeper *keeper); /* NULL is fine */
/* The keeper's socket, which reports a hang-up when the keeper ends. */
int keeper_socket(const struct keeper *keeper);

/* Reads the configuration, like config_load, but without its secrets;
 * config_fini() frees it.  cluster: the name of this node's cluster; "": none
 * yet.  After faults the keeper keeps its former configuration. */
int keeper_load(struct keeper *keeper, const char *cluster,
                struct config *config, struct config_faults *faults);
/* The certificate that the last configuration names, or the node's own in
 * state_dir; the keeper signs with its key.  keeper must outlive it. */
int keeper_certificate(struct keeper *keeper, const char *state_dir,
                       struct certificate *out, struct error *err);
/* The keeper leaves root; before heapwired does. */
int keeper_become(struct keeper *keeper, const struct account *account,
                  struct error *err);

/* Does the answer to the nonce prove the password of that user?  Unknown users
 * take the same path and time.  token: is it HTTP's bearer token?  -1 with
 * *err: the keeper cannot say. */
int keeper_check_sha2(struct keeper *keeper, struct span name,
                      const uint8_t nonce[AUTH_NONCE], struct span answer,
                      bool token, bool *valid, struct error *err);
/* shown: SHA-256 of the certificate that the client saw, or NULL; if the answer
 * is valid, fingerprint proves the certificate to the client, else it is "". */
int keeper_check_native(struct keeper *keeper, struct span name,
                        const uint8_t nonce[AUTH_NONCE], struct span answer,
                        const uint8_t *shown, bool *valid,
                        char fingerprint[AUTH_FINGERPRINT], struct error *err);

/* Proves with the cluster's key. */
struct peer_prover keeper_prover(struct keeper *keeper);
/* The number of that key, as of the last keeper_load; another key has another
 * number. */
uint32_t keeper_key_number(const struct keeper *keeper);

int keeper_etcd_password(struct keeper *keeper, char *out, size_t size,
                         struct error *err);

/* ---- keeper_serve.c ----
 * The keeper itself.  Only this process reads the configuration
 * file, the files of secrets and the keys.  It has no descriptor but its
 * socket, leaves no core, cannot be traced by others of its user, and ends with
 * heapwired. */

/* Was this program started as a keeper? */
bool keeper_is_meant(const char *name);
/* Before anything is read or allocated. */
void keeper_harden(void);
/* Answers on KEEPER_FD until heapwired is gone; the exit status. */
int keeper_serve(const struct arguments *arguments);

/* ---- keeper_watch.c ----
 * Replaces a keeper that has ended.  On the loop. */

enum {
    KEEPER_RETRY_MS =
        500, /* logins fail meanwhile; doubles with each attempt, */
    KEEPER_RETRY_MAX_MS = 60 * 1000
};

struct keeper_watch {
    struct keeper *keeper;
    uv_poll_t socket;
    uv_timer_t timer;
    uint64_t pause_ms;  /* before the next attempt; 0: none is needed */
    bool watched, open; /* which handles libuv has */
    void (*on_restart)(void *arg);
    void *arg;
};

/* again: a new keeper must load the configuration; called repeatedly until
 * keeper_watch_loaded says that one has. */
void keeper_watch_start(struct keeper_watch *w, uv_loop_t *loop,
                        struct keeper *keeper, void (*again)(void *arg),
                        void *arg);
void keeper_watch_loaded(struct keeper_watch *w);
void keeper_watch_stop(struct keeper_watch *w); /* zeroed is fine */

#endif
