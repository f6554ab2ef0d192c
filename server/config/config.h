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
#include "errors.h"
#include "marks.h"
#include "peer_key.h"
#include "peers.h"
#include "setting.h"

struct error;
struct users;

/* ---- config_file.c ----
 * Opens and vets a configuration file, and collects its faults. */

enum {
    CONFIG_FAULTS_MAX = 50,
    CONFIG_FAULT_BYTES = 1024 /* of a path, and of what is wrong */
};

#define CONFIG_PRIVATE                                                         \
    "(chmod 600; or, for a heapwired that leaves root: chown root:GROUP, "     \
    "chmod 640, with the group of the user that it becomes)"

/* Fault lines, newest last. */
struct config_faults {
    struct buffer text;
    unsigned count;
};

void config_faults_init(struct config_faults *faults);
void config_faults_fini(struct config_faults *faults);
/* line 0: the file called name as a whole. */
void config_fault(struct config_faults *faults, const char *name, unsigned line,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* where: "file:12", "--listen", or "" */
void config_add_fault(struct config_faults *faults, const char *where,
                      const char *what);

/* Opens and vets the file: regular, ours or root's, closed to others' writing.
 * *readable: others may read it, not counting the group that root gives its
 * file so that heapwired can read it after it left root. */
int config_read_file(const char *path, struct buffer *out, bool *readable,
                     struct error *err);

/* ---- config_cluster.c ----
 * [cluster] and [peer N] of the configuration file.  One file serves all nodes:
 * each finds itself among the peers by its id.  The keys of [cluster] are rows
 * of setting.h's table; config.c calls the rest. */

enum {
    CONFIG_SECRET_MAX = 160, /* bytes; what a line has room for */
    CONFIG_CLUSTER_PATH = 1024,
    CONFIG_CONNECT_S = 1,
    CONFIG_CONNECT_MAX_S = 60,
    CONFIG_LINKS = 10240, /* to other nodes */
    CONFIG_LINKS_MIN = 16,
    CONFIG_LINKS_MAX = 2 * PEERS_MAX,
    CONFIG_ENDPOINTS = 8,       /* of etcd */
    CONFIG_ENDPOINTS_MAX = 190, /* bytes of all, as a line has them */
    CONFIG_TTL_S = 10,          /* of a node's entry in etcd */
    CONFIG_TTL_MIN_S = 3,
    CONFIG_TTL_MAX_S = 600
};

struct config_etcd {
    char endpoints[CONFIG_ENDPOINTS_MAX + 1]; /* "URL, URL"; "" none */
    char cacert[CONFIG_CLUSTER_PATH], cert[CONFIG_CLUSTER_PATH],
        key[CONFIG_CLUSTER_PATH];
    char user[CONFIG_SECRET_MAX + 1], password[CONFIG_SECRET_MAX + 1];
    uint32_t ttl_s;
};

struct config_peer {
    uint32_t id;
    char address[INET6_ADDRSTRLEN]; /* as inet_ntop has it */
    uint16_t port;
    enum peer_role role;
    bool address_set, role_set;
    unsigned line; /* of its head */
};

struct config_cluster {
    char name[PEER_CLUSTER_MAX + 1];
    char secret[CONFIG_SECRET_MAX + 1]; /* "" none; never shown */
    char secret_file[CONFIG_CLUSTER_PATH];
    uint32_t connect_timeout_s;
    uint32_t links_max;
    enum peer_role role; /* this node's */
    struct config_etcd etcd;
    /* Ascending by id once read; owned. */
    struct config_peer *peers;
    size_t peer_count, peer_capacity;
};

void config_cluster_defaults(struct config_cluster *cluster);
void config_cluster_fini(struct config_cluster *cluster); /* zeroed is fine */

/* A section [peer NAME] as it is read: its head, a key, its end.  -1 with *err,
 * which does not contain the line number. */
int config_peer_begin(struct config_peer *peer, const char *name, unsigned line,
                      struct error *err);
int config_peer_key(struct config_peer *peer, const char *key,
                    const char *value, struct error *err);
int config_peer_end(struct config_cluster *cluster,
                    const struct config_peer *peer, struct error *err);

/* After the whole file, called name, was read: sorts the peers and reports
 * duplicates. */
void config_peers_check(struct config_cluster *cluster, const char *name,
                        struct config_faults *faults);
/* After this node's id and address are known: reads the secret's file, and
 * finds this node among the peers, which gives its address and role. */
void config_cluster_complete(struct config *config, const char *name,
                             struct config_faults *faults);

/* That node's section; NULL: it has none. */
const struct config_peer *config_find_peer(const struct config_cluster *cluster,
                                           uint64_t id);
/* The section of this node; NULL: it has none. */
const struct config_peer *config_own_peer(const struct config *config);

/* Takes from's peers, for a reload; from loses them. */
void config_cluster_take(struct config *config, struct config *from);

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
    CONFIG_HOURS_LEFT_MAX = 24 * 365,
    CONFIG_EVERY_MAX_S = 365 * 24 * 3600,
    CONFIG_BUDGETS_MIN_S = 5,
    CONFIG_URLS_MAX = 1000, /* bytes */
    CONFIG_DEFAULT_DEBUGINFOD_S = 120,
    CONFIG_DEBUGINFOD_MAX_S = 3600,
    CONFIG_AGE_MAX_S = 10 * 365 * 24 * 3600
};

struct config_address {
    bool none; /* no TCP at all */
    char text[INET6_ADDRSTRLEN];
    uint16_t port; /* 0: any free one */
};

/* Who samples.  INTERPOSED and PATCHED are plugin/recorder, in front of a
 * shared allocator or of the program's own. */
enum config_source {
    CONFIG_SOURCE_AUTO,
    CONFIG_SOURCE_JEMALLOC,   /* jemalloc's own profiling */
    CONFIG_SOURCE_INTERPOSED, /* plugin/recorder */
    CONFIG_SOURCE_PATCHED     /* a preload in front of the program's own */
};

/* Does the database's jemalloc sample from the start, is it prepared to, or is
 * it left alone? */
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
    bool dumpable;                     /* it may be made so, to look at it */
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
    uint32_t heartbeat_s;  /* heapwire-run's: supervised.h; 0: none */
    uint32_t guard_s;      /* the agent's: agent_protocol.h; 0: never */
    double budget_percent; /* of profiling: overhead_limit.h; 0: none */
    bool symbols_index;    /* are indexes made? */
    uint64_t symbols_bytes, symbols_memory;
    /* "": what the environment has; "none" */
    char debuginfod_urls[CONFIG_URLS_MAX + 1];
    uint32_t debuginfod_timeout_s;
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

/* Does TCP need TLS: as set, or because the node listens beyond loopback? */
bool config_requires_tls(const struct config *config);
/* the same for HTTP's port */
bool config_http_requires_tls(const struct config *config);

/* Can one of them not be bound beside the other? */
bool config_addresses_clash(const struct config_address *a,
                            const struct config_address *b);
/* "127.0.0.1:9036", "[::1]:9036" or "none" */
void config_address_text(const struct config_address *address, char *out,
                         size_t size);

/* ---- the command line: arguments.c ---- */

struct arguments {
    struct config_arguments config;
    char **argv; /* as it came */
    bool check, help, version;
    bool wait;
};

/* -1: wrong, and the reason is on stderr.  The strings borrow argv. */
int arguments_parse(struct arguments *out, int argc, char **argv);
void arguments_help(void);

#endif
