/*
 * setting.h - the node's settings, one by one: keys, options, values.
 */
#ifndef HW_SETTING_H
#define HW_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader.h"

struct config;
struct error;

enum { SETTING_KEYS_MAX = 512 };

enum config_key {
    CONFIG_ID,
    CONFIG_LISTEN,
    CONFIG_HTTP,
    CONFIG_HTTP_GET_CHANGES,
    CONFIG_STATE_DIR,
    CONFIG_SOCKET,
    CONFIG_USER,
    CONFIG_EXE,
    CONFIG_JEMALLOC,
    CONFIG_PROFILING,
    CONFIG_PROFILING_SOURCE,
    CONFIG_ALLOCATOR,
    CONFIG_MALLCTL,
    CONFIG_PROCESS,
    CONFIG_START_TIMEOUT,
    CONFIG_ALLOCATOR_FRAMES,
    CONFIG_LOG,
    CONFIG_TIMEOUT,
    CONFIG_CONNECTIONS,
    CONFIG_IDLE,
    CONFIG_LOGIN_FAILURES,
    CONFIG_TLS_CERT,
    CONFIG_TLS_KEY,
    CONFIG_REQUIRE_TLS,
    CONFIG_KEEP,
    CONFIG_KEEP_BYTES,
    CONFIG_KEEP_AGE,
    CONFIG_AT_PERCENT,
    CONFIG_GROWTH,
    CONFIG_EVERY,
    CONFIG_MIN_INTERVAL,
    CONFIG_LINGER,
    CONFIG_HEARTBEAT,
    CONFIG_BUDGET,
    CONFIG_GUARD_TIMEOUT,
    CONFIG_SYMBOLS_INDEX,
    CONFIG_SYMBOLS_BYTES,
    CONFIG_SYMBOLS_MEMORY,
    CONFIG_CLUSTER_NAME,
    CONFIG_CLUSTER_SECRET,
    CONFIG_CLUSTER_SECRET_FILE,
    CONFIG_CONNECT_TIMEOUT,
    CONFIG_CLUSTER_ROLE,
    CONFIG_ETCD,
    CONFIG_ETCD_TTL,
    CONFIG_ETCD_CACERT,
    CONFIG_ETCD_CERT,
    CONFIG_ETCD_KEY,
    CONFIG_ETCD_USER,
    CONFIG_ETCD_PASSWORD,
    CONFIG_KEYS
};

/* In [node]; or "SECTION.KEY". */
const char *setting_key(enum config_key key);
/* Behind "--"; NULL: the file alone has it. */
const char *setting_option(enum config_key key);
/* Its value appears in no fault, list or log. */
bool setting_is_secret(enum config_key key);

/* -1 with *err, which says what is allowed. */
int setting_apply(struct config *config, enum config_key key, const char *value,
                  struct error *err);

void setting_defaults(struct config *config);
/* Defaults that depend on other settings: once all others are known. */
int setting_complete(struct config *config, struct error *err);

/* A number of connections, of the node or of a user.  -1 with *err. */
int setting_connections(const char *value, uint32_t *out, struct error *err);

/* Does SIGHUP put another value in force? */
bool setting_is_reloadable(struct span key);
/* Takes the reloadable ones of from, but for TLS's files and the cluster's. */
void setting_reload(struct config *config, const struct config *from);
/* The same for TLS's files, once they have been read. */
void setting_reload_tls(struct config *config, const struct config *from);

/* The keys of from, commas between them, that have another value and take a
 * restart; secrets are not compared. */
void setting_left(const struct config *config, const struct config *from,
                  char *out, size_t size);

/* key=value lines, in the order that --check prints. */
void setting_print(const struct config *config, FILE *out);

#endif
