/* daemon_config.h - puts a configuration to use: at the start, and on SIGHUP.
 * With heapwired's parts, for the files that make up heapwired; on the loop. */
#ifndef HW_DAEMON_CONFIG_H
#define HW_DAEMON_CONFIG_H

#include "daemon.h"
#include "keeper.h"
#include "state_dir.h"
#include "supervised.h"

enum { DAEMON_SIGNALS = 3 };

struct daemon {
    const char *file; /* of the configuration, or NULL */
    struct keeper *keeper;
    struct config config;
    struct state_dir state;
    struct given_files given;
    struct controller *controller;
    struct view_cache *views;
    struct memory_sampler *sampler;
    struct debug_fetcher *debug; /* or NULL */
    uv_loop_t loop;
    struct server server;
    struct daemon_cluster cluster;
    struct listener local, tcp, http_local, http;
    struct follower follower;
    struct supervised supervised;
    struct keeper_watch keeper_watch;
    uv_signal_t signals[DAEMON_SIGNALS];
    struct state_dir_watch state_watch;
    bool loop_open, server_open, signals_open, log_open;
};

/* Loads the certificate that the keeper's configuration names.  -1: the former
 * one stays. */
int daemon_load_tls(struct daemon *d, struct error *err);
/* Opens and closes TCP's and HTTP's ports: they need users who can log in. */
void daemon_steer_tcp(struct daemon *d);
/* arg: the daemon.  Reads the configuration again; a faulty one changes
 * nothing. */
void daemon_reload_config(void *arg);

#endif
