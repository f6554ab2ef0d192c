/*
 * host.h - what statements may ask of the server: struct sql_host.
 *
 * Its functions run on any thread; server.h says which lock they take.
 */
#ifndef HW_HOST_H
#define HW_HOST_H

struct server;

/* Fills server->node.host. */
void host_init(struct server *server);

#endif
