/*
 * config.h - the configuration file and the command line, as one value.
 *
 * Built once, then only read.  Every fault is found and reported on a line of
 * its own: "file:line: what is wrong (what is allowed)".
 */
#ifndef HW_CONFIG_H
#define HW_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "config_cluster.h"
#include "config_file.h"
#include "errors.h"
#include "marks.h"
#include "setting.h"

struct users;

enum {
    CONFIG_PATH_MAX = 1024,
    CONFIG_ADDRESS_TEXT = INET6_ADDRSTRLEN + 8,
    CONFIG_SOCKET_MAX = 107,           /* sun_path less its NUL */
    CONFIG_STATE_MAX = 90,             /* leaves room for the sockets' names */
    CONFIG_FILE_MAX = 4 * 1024 * 1024, /* PEERS_MAX sections fit */
    CONFIG_DEFAULT_ID = 10001,
    CONFIG_DEFAULT_PORT = 9036,
    CONFIG_HTTP_PORT = 9037,
    CONFIG_DEFAULT_TIMEOUT_S = 60,
    CONFIG_TIMEOUT_MAX_S = 24 * 3600,
    CONFIG_DEFAULT_CONNECTIONS = 1024,
    CONFIG_CONNECTIONS_MAX = 16384,
    CONFIG_DEFAULT_IDLE_S = 28800, /* as MySQL's wait_timeout */
    CONFIG_IDLE_MAX_S = 365 * 24 * 3600,
    CONFIG_DEFAULT_LOGIN_FAILURES = 10,
    CONFIG_LOGIN_FAILURES_MAX = 1000,
    CONFIG_DEFAULT_LINGER_S = 900,
    CONFIG_LINGER_MAX_S = 7 * 24 * 3600,
    /* After a restart heapwired is back before an agent without guard switches
     * profiling off. */
    CONFIG_DEFAULT_HEARTBEAT_S = 30,
    CONFIG_HEARTBEAT_MIN_S = 3,
    CONFIG_HEARTBEAT_MAX_S = 24 * 3600,
    CONFIG_DEFAULT_START_S = 20,
    CONFIG_START_MAX_S = 24 * 3600,
    CONFIG_FRAMES_BYTES = 1024, /* allocator.h's */
    CONFIG_NAME_MAX = 255,      /* of an allocator or process that is named */
    CONFIG_DEFAULT_GUARD_S = 60,
    CONFIG_GUARD_MIN_S = 5, /* the agent hears from us every two seconds */
    CONFIG_DEFAULT_BUDGET = 1,
    CONFIG_BUDGET_MAX = 800, /* all CPUs, all the time */
    CONFIG_READER_MB = 256,
    CONFIG_READER_MIN_MB = 16,
    CONFIG_READER_MAX_MB = 3072, /* its process may have 4 GiB */
    CONFIG_EVERY_MIN_S = 10,
    CONFIG_EVERY_MAX_S = 365 * 24 * 3600,
    CONFIG_AGE_MAX_S = 10 * 365 * 24 * 3600
};

struct config_address {
    bool none; /* no TCP at all */
    char text[INET6_ADDRSTRLEN];
    uint16_t port; /* 0: any free one */
};

/* Whether the database's jemalloc samples from the start, is prepared to, or is
 * left alone. */
/* Who samples. */
enum config_source {
    CONFIG_SOURCE_AUTO,
    CONFIG_SOURCE_JEMALLOC,  /* its own profiling */
    CONFIG_SOURCE_INTERPOSED /* plugin/recorder */
};

enum config_profiling {
    CONFIG_PROFILING_PREPARED,
    CONFIG_PROFILING_ON,
    CONFIG_PROFILING_OFF
};

struct config {
    uint32_t node_id;
    struct config_address listen;
    struct config_address http;
    bool listen_given; /* set in the file or by an option */
    bool http_given;
    bool http_get_changes; /* as Doris' and GreptimeDB's scripts ask for it */
    char state_dir[CONFIG_PATH_MAX];
    char state_note[ERROR_TEXT_MAX]; /* why state_dir is unusual, or "" */
    char socket[CONFIG_PATH_MAX];
    char user[64]; /* "": the user stays */
    char exe[CONFIG_PATH_MAX];
    char jemalloc[CONFIG_PATH_MAX];
    /* For the database's start, like the two above: heapwire-run uses them. */
    enum config_profiling profiling;
    enum config_source profiling_source;
    char allocator[CONFIG_PATH_MAX]; /* "auto", or one's name or path */
    char mallctl[CONFIG_PATH_MAX];   /* its place; "": heapwire-run finds it */
    char process[CONFIG_NAME_MAX + 1]; /* "parent", "child", or its name */
    uint32_t start_timeout_s; /* time for the database to reach its main; 0:
                                 unlimited */
    char allocator_frames[CONFIG_FRAMES_BYTES]; /* allocator.h */
    char log[CONFIG_PATH_MAX];
    char tls_cert[CONFIG_PATH_MAX]; /* both "": the node makes its own
                                       certificate */
    char tls_key[CONFIG_PATH_MAX];
    bool require_tls; /* require TLS over TCP; see config_requires_tls */
    uint32_t statement_timeout_s;
    uint32_t max_connections;
    uint32_t idle_timeout_s;
    uint32_t login_failures; /* in a row, from one address; 0: unlimited */
    uint32_t keep;           /* snapshots */
    uint64_t keep_bytes;
    uint32_t keep_age_s; /* 0: unlimited */
    struct marks_rules marks;
    uint32_t linger_s;     /* heapwire-run's */
    uint32_t heartbeat_s;  /* likewise: supervised.h; 0: none */
    uint32_t guard_s;      /* the agent's: agent_protocol.h; 0: never */
    double budget_percent; /* of profiling: overhead_limit.h; 0: none */
    bool symbols_index;    /* are indexes made? */
    uint64_t symbols_bytes, symbols_memory;
    struct config_cluster cluster;
    struct users *users; /* owned; see config_fini */
};

/* What the command line gave; NULL: not given. */
struct config_arguments {
    const char *file;
    const char *values[CONFIG_KEYS];
};

/* Reads file (may be NULL), then the arguments on top, then defaults.  -1 if
 * there were faults; config_fini either way. */
int config_load(struct config *config, const struct config_arguments *args,
                struct config_faults *faults);
/* The same from memory, for heapwire-passwd and tests; faults say name. */
int config_parse(struct config *config, const char *name, const char *text,
                 size_t size, struct config_faults *faults);
void config_fini(struct config *config); /* zeroed is fine */

/* Whether TCP needs TLS: as set, or because the node listens beyond loopback.
 */
bool config_requires_tls(const struct config *config);
bool config_http_requires_tls(const struct config *config); /* likewise */

/* Can one of them not be bound beside the other? */
bool config_addresses_clash(const struct config_address *a,
                            const struct config_address *b);
/* "127.0.0.1:9036", "[::1]:9036" or "none" */
void config_address_text(const struct config_address *address, char *out,
                         size_t size);

#endif
