/*
 * peer_failure.h - the texts of what goes wrong on the way to a node.
 *
 * As StarRocks has them: people's scripts look for these words.
 */
#ifndef HW_PEER_FAILURE_H
#define HW_PEER_FAILURE_H

#include <stdint.h>

struct error;
struct peer_place;

enum { PEER_NAME_MAX = 64 }; /* "[::1]:9036" and the like */

/* What a failure calls a node by. */
void peer_failure_name(const struct peer_place *place, char *out);

void peer_failure_unknown(struct error *out);
void peer_failure_timeout(struct error *out, unsigned timeout_ms);
/* It could not be asked.  why is passed on where it says who answered. */
void peer_failure_submit(struct error *out, const struct peer_place *place,
                         const struct error *why);
/* It was asked, and there is no answer, or nothing that is one. */
void peer_failure_rpc(struct error *out, const struct peer_place *place,
                      const struct error *why);

#endif
