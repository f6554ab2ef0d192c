/*
 * keeper.h - heapwired's end of its keeper: the process that has the secrets.
 *
 * Passwords' verifiers, the cluster's secret and key and the key of TLS are
 * read, kept and used by a child of heapwired, which answers a closed list of
 * questions: what runs SQL never has them in its memory.  Calls may come from
 * any thread, one is under way at a time, and each ends within
 * KEEPER_ANSWER_MS (KEEPER_FILES_MS where it reads files): they take tens of
 * microseconds, so that the loop waits for them.  A keeper that is late is
 * killed; until there is another, calls fail at once.
 */
#ifndef HW_KEEPER_H
#define HW_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth.h"
#include "peer_key.h"
#include "reader.h"

struct account;
struct certificate;
struct config;
struct config_faults;
struct error;
struct keeper;

/* Before there is a secret in memory, or a thread.  argv: heapwired's own,
 * which the keeper reads its configuration by; borrowed.  NULL with *err. */
struct keeper *keeper_start(char **argv, struct error *err);
/* In place of one that is gone, or is made to go now; it knows nothing before
 * keeper_load.  -1 with *err: there is none. */
int keeper_restart(struct keeper *keeper, struct error *err);
void keeper_stop(struct keeper *keeper); /* NULL is fine */
/* Of the socket, which hangs up when the keeper is gone. */
int keeper_socket(const struct keeper *keeper);

/* Reads the configuration, as config_load, which is to be freed likewise, but
 * without its secrets.  cluster: the name of the cluster that this node is of
 * already; "": none yet.  Where there are faults the keeper's stays as it
 * was. */
int keeper_load(struct keeper *keeper, const char *cluster,
                struct config *config, struct config_faults *faults);
/* The certificate that was loaded last asks for, or the node's own in
 * state_dir; its key signs by the keeper.  keeper must outlive it. */
int keeper_certificate(struct keeper *keeper, const char *state_dir,
                       struct certificate *out, struct error *err);
/* Leaves root; before heapwired does. */
int keeper_become(struct keeper *keeper, const struct account *account,
                  struct error *err);

/* Does the answer to the nonce prove the password of that user?  Unknown users
 * take the same path and time.  -1 with *err: that cannot be told now. */
int keeper_check_sha2(struct keeper *keeper, struct span name,
                      const uint8_t nonce[AUTH_NONCE], struct span answer,
                      bool *right, struct error *err);
/* shown: SHA-256 of the certificate that the client saw, or NULL; what proves
 * it to the client comes to fingerprint where the answer is right, or else
 * "". */
int keeper_check_native(struct keeper *keeper, struct span name,
                        const uint8_t nonce[AUTH_NONCE], struct span answer,
                        const uint8_t *shown, bool *right,
                        char fingerprint[AUTH_FINGERPRINT], struct error *err);

/* Proves with the cluster's key. */
struct peer_prover keeper_prover(struct keeper *keeper);
/* Of that key: another one, another number.  Of the last keeper_load. */
uint32_t keeper_key_number(const struct keeper *keeper);

int keeper_etcd_password(struct keeper *keeper, char *out, size_t size,
                         struct error *err);

#endif
