/* setting.h - the node's settings, one by one: keys, options, values. */
#ifndef HW_SETTING_H
#define HW_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reader.h"

struct config;
struct config_address;
struct error;

enum { SETTING_KEYS_MAX = 512 };

/* In the order in which --check and --help print them. */
enum config_key {
    CONFIG_ID,
    CONFIG_LISTEN,
    CONFIG_HTTP,
    CONFIG_HTTP_GET_CHANGES,
    CONFIG_STATE_DIR,
    CONFIG_SOCKET,
    CONFIG_USER,
    CONFIG_LOG,
    CONFIG_TLS_CERT,
    CONFIG_TLS_KEY,
    CONFIG_REQUIRE_TLS,
    CONFIG_EXE,
    CONFIG_JEMALLOC,
    CONFIG_PROFILING,
    CONFIG_PROFILING_SOURCE,
    CONFIG_ALLOCATOR,
    CONFIG_MALLCTL,
    CONFIG_PROCESS,
    CONFIG_DUMPABLE,
    CONFIG_START_TIMEOUT,
    CONFIG_ALLOCATOR_FRAMES,
    CONFIG_TIMEOUT,
    CONFIG_CONNECTIONS,
    CONFIG_IDLE,
    CONFIG_LOGIN_FAILURES,
    CONFIG_KEEP,
    CONFIG_KEEP_BYTES,
    CONFIG_KEEP_AGE,
    CONFIG_RING,
    CONFIG_AT_PERCENT,
    CONFIG_GROWTH,
    CONFIG_EVERY,
    CONFIG_HOURS_LEFT,
    CONFIG_MIN_INTERVAL,
    CONFIG_BUDGETS_EVERY,
    CONFIG_LINGER,
    CONFIG_HEARTBEAT,
    CONFIG_BUDGET,
    CONFIG_GUARD_TIMEOUT,
    CONFIG_SYMBOLS_INDEX,
    CONFIG_SYMBOLS_BYTES,
    CONFIG_SYMBOLS_MEMORY,
    CONFIG_DEBUGINFOD_URLS,
    CONFIG_DEBUGINFOD_TIMEOUT,
    CONFIG_CLUSTER_NAME,
    CONFIG_CLUSTER_SECRET,
    CONFIG_CLUSTER_SECRET_FILE,
    CONFIG_CONNECT_TIMEOUT,
    CONFIG_MAX_LINKS,
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
/* Behind "--"; NULL: only the file has it. */
const char *setting_option(enum config_key key);
const char *setting_argument(enum config_key key); /* as --help has it */
const char *setting_help(enum config_key key);     /* without the default */
/* Is it left out of every fault, list and log? */
bool setting_is_secret(enum config_key key);

/* -1 with *err, which says what is allowed. */
int setting_apply(struct config *config, enum config_key key, const char *value,
                  struct error *err);

void setting_defaults(struct config *config);
/* Writes the default as --help shows it; "": none, or another setting's. */
void setting_default(enum config_key key, char *out, size_t size);
/* Defaults that depend on other settings: once all others are known. */
int setting_complete(struct config *config, struct error *err);

/* A number of connections, of the node or of a user.  -1 with *err. */
int setting_connections(const char *value, uint32_t *out, struct error *err);

/* Does SIGHUP put another value in force? */
bool setting_is_reloadable(struct span key);
/* Takes the reloadable ones of from; TLS's files only if tls. */
void setting_reload(struct config *config, const struct config *from, bool tls);

/* The keys of from, commas between them, that have another value and take a
 * restart; secrets are not compared. */
void setting_left(const struct config *config, const struct config *from,
                  char *out, size_t size);

/* key=value lines, in the order that --check prints. */
void setting_print(const struct config *config, FILE *out);

/* ---- setting_value.c ----
 * Reads and writes the value of one setting, as its row says.  For setting.c,
 * config_cluster.c and their parts; others include setting.h. */

/* What a value looks like, and its field. */
enum setting_form {
    SETTING_NUMBER,  /* digits; uint32_t */
    SETTING_SECONDS, /* "90" or "15m"; uint32_t */
    SETTING_MS,      /* the same; milliseconds in uint64_t */
    SETTING_BYTES,   /* "4096" or "1G"; uint64_t */
    SETTING_TRUTH,   /* the second of two words; bool */
    SETTING_WORD,    /* one of the words, an enum's */
    SETTING_PATH,    /* made absolute, or one of the words; char[] */
    SETTING_TEXT,    /* without control characters; char[] */
    SETTING_OTHER    /* set and print do it; without print: char[] */
};

struct setting {
    const char *key;    /* in [node]; or "SECTION.KEY" */
    const char *option; /* on the command line; NULL: only the file has it */
    enum setting_form form;
    uint32_t field;       /* its offset in struct config */
    uint64_t least, most; /* of an amount; most is also the bytes of a text */
    const char *unit;     /* of a number: "of seconds"; or NULL */
    const char *such_as;  /* examples of an amount; what words are allowed */
    const char *zero; /* what 0 means, which is allowed below least, too; NULL:
                         it is not */
    const char *const *words; /* NULL ends them */
    int (*set)(struct config *config, const char *value, struct error *err);
    void (*print)(const struct config *config, FILE *out);
    const char *argument, *help; /* of the option */
    uint32_t size;               /* of the field; a reload copies it */
    bool reloadable;
    bool secret; /* its value is never repeated */
};

/* Puts the value into field, which is of the setting's type; not for
 * SETTING_OTHER.  -1 with *err, which says what is allowed. */
int setting_read(const struct setting *setting, const char *value, void *field,
                 struct error *err);
/* Prints key=value. */
void setting_write(const struct setting *setting, const struct config *config,
                   FILE *out);

/* Says what is allowed; always -1. */
int setting_wrong(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Digits alone; -1: something else, or not within. */
int setting_number(const char *text, uint32_t min, uint32_t max, uint32_t *out);
/* The word's index; -1: none of them. */
int setting_word(const char *const *words, const char *value);

/* "127.0.0.1:9036" or "[::1]:9036"; out gets it as inet_ntop writes it.  -1:
 * not such a text. */
int setting_address(const char *value, struct config_address *out);

/* setting_other.c; -1 with *err. */
int setting_set_listen(struct config *c, const char *value, struct error *err);
int setting_set_http(struct config *c, const char *value, struct error *err);
int setting_set_user(struct config *c, const char *value, struct error *err);
int setting_set_frames(struct config *c, const char *value, struct error *err);
int setting_set_budget(struct config *c, const char *value, struct error *err);
int setting_set_at_percent(struct config *c, const char *value,
                           struct error *err);
int setting_set_cluster_name(struct config *c, const char *value,
                             struct error *err);
int setting_set_secret(struct config *c, const char *value, struct error *err);
int setting_set_etcd(struct config *c, const char *value, struct error *err);
int setting_set_etcd_user(struct config *c, const char *value,
                          struct error *err);
int setting_set_etcd_password(struct config *c, const char *value,
                              struct error *err);
/* out has CONFIG_SECRET_MAX + 1 bytes. */
int setting_secret(const char *value, char *out, struct error *err);

void setting_print_listen(const struct config *c, FILE *out);
void setting_print_http(const struct config *c, FILE *out);
void setting_print_require_tls(const struct config *c, FILE *out);
void setting_print_budget(const struct config *c, FILE *out);
void setting_print_at_percent(const struct config *c, FILE *out);

extern const char *const setting_roles[]; /* by enum peer_role */

#endif
