/*
 * membership.h - makes the list of members: from the configuration's [peer]
 * sections, etcd, and this node itself.
 *
 * Belongs to the loop.
 */
#ifndef HW_MEMBERSHIP_H
#define HW_MEMBERSHIP_H

struct cluster;
struct config;
struct error;
struct etcd_nodes;
struct members;
struct keeper;
struct membership;
struct peer_identity;
struct wakes;

/* This node is always a member, with or without a [peer] section.  The
 * configuration wins over etcd; for one address the earlier entry wins.
 * *trouble: which node was left out (code 0: none). etcd may be NULL. NULL with
 * *err. */
struct members *membership_make(const struct config *config,
                                const struct etcd_nodes *etcd,
                                struct error *trouble, struct error *err);

/* Follows etcd, where config names one, and gives cluster its members.  Borrows
 * config, keeper and cluster.  NULL with *err. */
struct membership *membership_start(const struct config *config,
                                    const struct peer_identity *identity,
                                    struct keeper *keeper,
                                    struct cluster *cluster,
                                    struct wakes *wakes, struct error *err);
/* Takes config's new peers. */
void membership_refresh(struct membership *membership);
/* Before the loop ends; takes at most ETCD_STOP_MS.  NULL is fine. */
void membership_stop(struct membership *membership);

#endif
