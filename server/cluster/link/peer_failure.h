/*
 * peer_failure.h - the texts of failures on the way to a node.
 *
 * The words are StarRocks', because scripts look for them.
 */
#ifndef HW_PEER_FAILURE_H
#define HW_PEER_FAILURE_H

#include <stdint.h>

struct error;
struct peer_place;

enum { PEER_NAME_MAX = 64 }; /* "[::1]:9036" and the like */

void peer_failure_unknown(struct error *out);
void peer_failure_timeout(struct error *out, unsigned timeout_ms);
/* The question could not be sent.  why is passed on if it names the node that
 * answered. */
void peer_failure_submit(struct error *out, const struct peer_place *place,
                         const struct error *why);
/* The question was sent, and no valid answer came. */
void peer_failure_rpc(struct error *out, const struct peer_place *place,
                      const struct error *why);

#endif
