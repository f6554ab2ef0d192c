/*
 * etcd.h - this node's entry in etcd, and those of the others.
 *
 * A thread of its own keeps the entry under a lease, and follows the others'.
 * Without etcd the node keeps serving, with the nodes that it knew last.
 */
#ifndef HW_ETCD_H
#define HW_ETCD_H

#include "etcd_nodes.h"
#include "waker.h"

struct etcd;
struct keeper;

enum { ETCD_STOP_MS = 300 /* to take the entry away at the end */ };

struct etcd_options {
    const char *endpoints;           /* "http://127.0.0.1:2379, ..." */
    const char *cacert, *cert, *key; /* of https; "" none */
    const char *user;                /* "" none */
    struct keeper *keeper;           /* has its password */
    const char *cluster;
    unsigned ttl_s;
    struct etcd_node self; /* member and incarnation */
    struct waker waker;    /* there is something new for etcd_get */
};

/* Copies options.  NULL with *err. */
struct etcd *etcd_start(const struct etcd_options *options, struct error *err);
/* Joins the thread, which may take ETCD_STOP_MS.  NULL is fine. */
void etcd_stop(struct etcd *etcd);

/* This node has another address or role now.  The id stays. */
void etcd_set_self(struct etcd *etcd, const struct member *self);
/* The nodes known now, and the trouble (code 0: none): etcd cannot be reached,
 * or another node holds this node's id there.  -1 with *err. */
int etcd_get(struct etcd *etcd, struct etcd_nodes *out, struct error *trouble,
             struct error *err);

#endif
