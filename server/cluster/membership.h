/*
 * membership.h - who belongs to the cluster, made of what is known: the
 * configuration's [peer] sections, and this node itself.
 */
#ifndef HW_MEMBERSHIP_H
#define HW_MEMBERSHIP_H

struct config;
struct error;
struct members;
struct peer_identity;

/* This node is among them, with a [peer] section or without.  NULL with *err.
 */
struct members *membership_make(const struct config *config, struct error *err);
/* What config's secret makes of this node.  before: what it was until now,
 * whose incarnation stays; NULL at the start. */
int membership_identity(const struct config *config,
                        const struct peer_identity *before,
                        struct peer_identity *out, struct error *err);

#endif
