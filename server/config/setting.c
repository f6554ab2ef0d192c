/*
 * setting.c - see setting.h.
 *
 * One row per setting: each sets its field or says what is allowed.  Those of
 * the database's start are in setting_database.c, those of [snapshots] in
 * setting_snapshots.c, those of [cluster] in setting_cluster.c.
 */
#include "setting.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent_protocol.h"
#include "config.h"
#include "errors.h"
#include "index_keeper.h"
#include "setting_value.h"
#include "state_dir_default.h"
#include "store.h"
#include "units.h"
#include "wrappers.h"

static int
set_id(struct config *c, const char *value, struct error *err)
{
    if (setting_number(value, 1, UINT32_MAX, &c->node_id) != 0)
        return setting_wrong(err, "must be a number from 1 to %u", UINT32_MAX);
    return 0;
}

static int
set_timeout(struct config *c, const char *value, struct error *err)
{
    if (setting_number(value, 1, CONFIG_TIMEOUT_MAX_S,
                       &c->statement_timeout_s) != 0)
        return setting_wrong(err, "must be a number of seconds from 1 to %d",
                             CONFIG_TIMEOUT_MAX_S);
    return 0;
}

int
setting_connections(const char *value, uint32_t *out, struct error *err)
{
    if (setting_number(value, 1, CONFIG_CONNECTIONS_MAX, out) != 0)
        return setting_wrong(err, "must be a number from 1 to %d",
                             CONFIG_CONNECTIONS_MAX);
    return 0;
}

static int
set_connections(struct config *c, const char *value, struct error *err)
{
    return setting_connections(value, &c->max_connections, err);
}

static int
set_idle(struct config *c, const char *value, struct error *err)
{
    if (setting_number(value, 1, CONFIG_IDLE_MAX_S, &c->idle_timeout_s) != 0)
        return setting_wrong(err, "must be a number of seconds from 1 to %d",
                             CONFIG_IDLE_MAX_S);
    return 0;
}

static int
set_login_failures(struct config *c, const char *value, struct error *err)
{
    if (setting_number(value, 0, CONFIG_LOGIN_FAILURES_MAX,
                       &c->login_failures) != 0)
        return setting_wrong(err,
                             "must be a number from 1 to %d, or 0 for no limit",
                             CONFIG_LOGIN_FAILURES_MAX);
    return 0;
}

static int
set_listen(struct config *c, const char *value, struct error *err)
{
    struct config_address address = {.none = strcmp(value, "none") == 0};

    if (!address.none && setting_address(value, &address) != 0)
        return setting_wrong(
            err,
            "must be ADDRESS:PORT such as 127.0.0.1:%d or [::1]:%d, "
            "or none",
            CONFIG_DEFAULT_PORT, CONFIG_DEFAULT_PORT);
    c->listen = address;
    c->listen_given = true;
    return 0;
}

static int
set_state_dir(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->state_dir, CONFIG_STATE_MAX, value, err);
}

static int
set_socket(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->socket, CONFIG_SOCKET_MAX, value, err);
}

static int
set_user(struct config *c, const char *value, struct error *err)
{
    size_t size = strlen(value);

    if (size == 0 || size >= sizeof(c->user))
        return setting_wrong(err, "must be the name of a user of this system");
    memcpy(c->user, value, size + 1);
    return 0;
}

_Static_assert((int)CONFIG_FRAMES_BYTES == (int)WRAPPERS_TEXT_BYTES,
               "a list's");

static int
set_allocator_frames(struct config *c, const char *value, struct error *err)
{
    *c->allocator_frames = '\0';
    return wrappers_add(c->allocator_frames, value, err);
}

static int
set_log(struct config *c, const char *value, struct error *err)
{
    if (strcmp(value, "stderr") == 0 || strcmp(value, "syslog") == 0) {
        snprintf(c->log, sizeof(c->log), "%s", value);
        return 0;
    }
    if (!strchr(value, '/'))
        return setting_wrong(err, "must be stderr, syslog, or a path");
    return setting_path(c->log, CONFIG_PATH_MAX - 1, value, err);
}

static int
set_tls_cert(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->tls_cert, CONFIG_PATH_MAX - 1, value, err);
}

static int
set_tls_key(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->tls_key, CONFIG_PATH_MAX - 1, value, err);
}

static int
set_require_tls(struct config *c, const char *value, struct error *err)
{
    bool yes = strcmp(value, "yes") == 0;

    if (!yes && strcmp(value, "no") != 0)
        return setting_wrong(err, "must be yes or no");
    c->require_tls = yes;
    return 0;
}

static int
set_linger(struct config *c, const char *value, struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 0, CONFIG_LINGER_MAX_S, &seconds) != 0)
        return setting_wrong(
            err,
            "must be a time such as 900 or 15m, at most %d seconds; "
            "0: not at all",
            CONFIG_LINGER_MAX_S);
    c->linger_s = (uint32_t)seconds;
    return 0;
}

static int
set_heartbeat(struct config *c, const char *value, struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 0, CONFIG_HEARTBEAT_MAX_S, &seconds) != 0 ||
        (seconds > 0 && seconds < CONFIG_HEARTBEAT_MIN_S))
        return setting_wrong(err,
                             "must be a time from %d to %d seconds; 0: never",
                             CONFIG_HEARTBEAT_MIN_S, CONFIG_HEARTBEAT_MAX_S);
    c->heartbeat_s = (uint32_t)seconds;
    return 0;
}

static int
set_guard_timeout(struct config *c, const char *value, struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 0, AGENT_SECONDS_MAX, &seconds) != 0 ||
        (seconds > 0 && seconds < CONFIG_GUARD_MIN_S))
        return setting_wrong(err,
                             "must be a time from %d to %d seconds; 0: never",
                             CONFIG_GUARD_MIN_S, AGENT_SECONDS_MAX);
    c->guard_s = (uint32_t)seconds;
    return 0;
}

/* "0.5": digits, and at most one point among them. */
static int
set_budget(struct config *c, const char *value, struct error *err)
{
    size_t size = strspn(value, "0123456789.");
    double percent = strtod(value, NULL);

    if (size == 0 || value[size] || strchr(value, '.') != strrchr(value, '.') ||
        strcmp(value, ".") == 0 || percent > CONFIG_BUDGET_MAX)
        return setting_wrong(
            err,
            "must be a number from 0 to %d: percent of one CPU for "
            "every eight of the machine; 0 for no budget",
            CONFIG_BUDGET_MAX);
    c->budget_percent = percent;
    return 0;
}

static int
set_symbols_index(struct config *c, const char *value, struct error *err)
{
    bool on = strcmp(value, "on") == 0;

    if (!on && strcmp(value, "off") != 0)
        return setting_wrong(err, "must be on or off");
    c->symbols_index = on;
    return 0;
}

static int
set_symbols_bytes(struct config *c, const char *value, struct error *err)
{
    if (units_bytes(value, 1, INT64_MAX, &c->symbols_bytes) != 0)
        return setting_wrong(
            err, "must be a number of bytes such as 1073741824 or 1G");
    return 0;
}

static int
set_symbols_memory(struct config *c, const char *value, struct error *err)
{
    if (units_bytes(value, (uint64_t)CONFIG_READER_MIN_MB << 20,
                    (uint64_t)CONFIG_READER_MAX_MB << 20,
                    &c->symbols_memory) != 0)
        return setting_wrong(err, "must be a number of bytes from %dM to %dM",
                             CONFIG_READER_MIN_MB, CONFIG_READER_MAX_MB);
    return 0;
}

static const struct setting {
    const char *key;    /* in [node]; or "SECTION.KEY" */
    const char *option; /* on the command line; NULL: the file alone has it */
    int (*set)(struct config *config, const char *value, struct error *err);
    bool reloadable;
    bool secret; /* its value is never repeated */
} settings[CONFIG_KEYS] = {
    [CONFIG_ID] = {"id", "node-id", set_id},
    [CONFIG_LISTEN] = {"listen", "listen", set_listen},
    [CONFIG_STATE_DIR] = {"state_dir", "state-dir", set_state_dir},
    [CONFIG_SOCKET] = {"socket", "socket", set_socket},
    [CONFIG_USER] = {"user", "user", set_user},
    [CONFIG_EXE] = {"exe", "exe", setting_set_exe},
    [CONFIG_JEMALLOC] = {"jemalloc", "jemalloc", setting_set_jemalloc},
    [CONFIG_PROFILING] = {"profiling", "profiling", setting_set_profiling},
    [CONFIG_ALLOCATOR] = {"allocator", "allocator", setting_set_allocator},
    [CONFIG_MALLCTL] = {"mallctl", "mallctl", setting_set_mallctl},
    [CONFIG_PROCESS] = {"process", "process", setting_set_process},
    [CONFIG_START_TIMEOUT] = {"start_timeout", "start-timeout",
                              setting_set_start_timeout},
    [CONFIG_ALLOCATOR_FRAMES] = {"allocator_frames", "allocator-frames",
                                 set_allocator_frames, true},
    [CONFIG_LOG] = {"log", "log", set_log},
    [CONFIG_TIMEOUT] = {"statement_timeout", "statement-timeout", set_timeout,
                        true},
    [CONFIG_CONNECTIONS] = {"max_connections", "max-connections",
                            set_connections},
    [CONFIG_IDLE] = {"idle_timeout", "idle-timeout", set_idle, true},
    [CONFIG_LOGIN_FAILURES] = {"login_failures", "login-failures",
                               set_login_failures, true},
    [CONFIG_TLS_CERT] = {"tls_cert", "tls-cert", set_tls_cert, true},
    [CONFIG_TLS_KEY] = {"tls_key", "tls-key", set_tls_key, true},
    [CONFIG_REQUIRE_TLS] = {"require_tls", "require-tls", set_require_tls,
                            true},
    [CONFIG_KEEP] = {"snapshots.keep", "snapshots-keep", setting_set_keep},
    [CONFIG_KEEP_BYTES] = {"snapshots.keep_bytes", "snapshots-keep-bytes",
                           setting_set_keep_bytes},
    [CONFIG_KEEP_AGE] = {"snapshots.keep_age", "snapshots-keep-age",
                         setting_set_keep_age},
    [CONFIG_AT_PERCENT] = {"snapshots.at_percent", "snapshots-at-percent",
                           setting_set_at_percent, true},
    [CONFIG_GROWTH] = {"snapshots.growth", "snapshots-growth",
                       setting_set_growth, true},
    [CONFIG_EVERY] = {"snapshots.every", "snapshots-every", setting_set_every,
                      true},
    [CONFIG_MIN_INTERVAL] = {"snapshots.min_interval", "snapshots-min-interval",
                             setting_set_min_interval, true},
    [CONFIG_LINGER] = {"linger", "linger", set_linger},
    [CONFIG_HEARTBEAT] = {"heartbeat", "heartbeat", set_heartbeat},
    [CONFIG_BUDGET] = {"profiler.budget_percent", "profiler-budget-percent",
                       set_budget},
    [CONFIG_GUARD_TIMEOUT] = {"profiler.guard_timeout",
                              "profiler-guard-timeout", set_guard_timeout},
    [CONFIG_SYMBOLS_INDEX] = {"symbols.index", "symbols-index",
                              set_symbols_index},
    [CONFIG_SYMBOLS_BYTES] = {"symbols.keep_bytes", "symbols-keep-bytes",
                              set_symbols_bytes},
    [CONFIG_SYMBOLS_MEMORY] = {"symbols.memory", "symbols-memory",
                               set_symbols_memory},
    [CONFIG_CLUSTER_NAME] = {"cluster.name", NULL, setting_set_cluster_name},
    [CONFIG_CLUSTER_SECRET] = {"cluster.secret", NULL, setting_set_secret, true,
                               true},
    [CONFIG_CLUSTER_SECRET_FILE] = {"cluster.secret_file", NULL,
                                    setting_set_secret_file, true},
    [CONFIG_CONNECT_TIMEOUT] = {"cluster.connect_timeout", NULL,
                                setting_set_connect_timeout},
    [CONFIG_CLUSTER_ROLE] = {"cluster.role", NULL, setting_set_role, true},
    [CONFIG_ETCD] = {"cluster.etcd", NULL, setting_set_etcd},
    [CONFIG_ETCD_TTL] = {"cluster.etcd_ttl", NULL, setting_set_etcd_ttl},
    [CONFIG_ETCD_CACERT] = {"cluster.etcd_cacert", NULL,
                            setting_set_etcd_cacert},
    [CONFIG_ETCD_CERT] = {"cluster.etcd_cert", NULL, setting_set_etcd_cert},
    [CONFIG_ETCD_KEY] = {"cluster.etcd_key", NULL, setting_set_etcd_key},
    [CONFIG_ETCD_USER] = {"cluster.etcd_user", NULL, setting_set_etcd_user},
    [CONFIG_ETCD_PASSWORD] = {"cluster.etcd_password", NULL,
                              setting_set_etcd_password, false, true},
};

const char *
setting_key(enum config_key key)
{
    return settings[key].key;
}

const char *
setting_option(enum config_key key)
{
    return settings[key].option;
}

bool
setting_is_secret(enum config_key key)
{
    return settings[key].secret;
}

int
setting_apply(struct config *config, enum config_key key, const char *value,
              struct error *err)
{
    return settings[key].set(config, value, err);
}

void
setting_defaults(struct config *config)
{
    memset(config, 0, sizeof(*config));
    config->node_id = CONFIG_DEFAULT_ID;
    config->statement_timeout_s = CONFIG_DEFAULT_TIMEOUT_S;
    config->max_connections = CONFIG_DEFAULT_CONNECTIONS;
    config->idle_timeout_s = CONFIG_DEFAULT_IDLE_S;
    config->login_failures = CONFIG_DEFAULT_LOGIN_FAILURES;
    config->listen.port = CONFIG_DEFAULT_PORT;
    config->budget_percent = CONFIG_DEFAULT_BUDGET;
    config->linger_s = CONFIG_DEFAULT_LINGER_S;
    config->heartbeat_s = CONFIG_DEFAULT_HEARTBEAT_S;
    config->guard_s = CONFIG_DEFAULT_GUARD_S;
    config->marks = marks_defaults;
    config->symbols_index = true;
    config->symbols_bytes = index_keeper_defaults.rules.bytes;
    config->symbols_memory = (uint64_t)CONFIG_READER_MB << 20;
    config->keep = store_defaults.count;
    config->keep_bytes = store_defaults.bytes;
    config->keep_age_s = (uint32_t)(store_defaults.age_ms / 1000);
    snprintf(config->listen.text, sizeof(config->listen.text), "127.0.0.1");
    setting_default_database(config);
    config_cluster_defaults(&config->cluster);
}

static int
default_state_dir(struct config *config, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct error instead;

    state_dir_default(config->node_id, path, sizeof(path), &instead);
    snprintf(config->state_note, sizeof(config->state_note), "%s",
             instead.text);
    return set_state_dir(config, path, err);
}

int
setting_complete(struct config *config, struct error *err)
{
    char path[CONFIG_PATH_MAX + 32];

    if (!*config->state_dir && default_state_dir(config, err) != 0)
        return -1;
    if (!*config->socket) {
        snprintf(path, sizeof(path), "%s/mysql.sock", config->state_dir);
        if (set_socket(config, path, err) != 0)
            return -1;
    }
    if (!*config->log) {
        snprintf(path, sizeof(path), "%s/heapwired.log", config->state_dir);
        if (set_log(config, path, err) != 0)
            return -1;
    }
    return 0;
}

void
setting_print(const struct config *c, FILE *out)
{
    char address[CONFIG_ADDRESS_TEXT];

    config_address_text(&c->listen, address, sizeof(address));
    fprintf(out,
            "id=%u\nlisten=%s\nstate_dir=%s\nsocket=%s\nuser=%s\n"
            "log=%s\ntls_cert=%s\ntls_key=%s\nrequire_tls=%s\n",
            c->node_id, address, c->state_dir, c->socket, c->user, c->log,
            c->tls_cert, c->tls_key, config_requires_tls(c) ? "yes" : "no");
    setting_print_database(c, out);
    fprintf(out,
            "allocator_frames=%s\n"
            "statement_timeout=%u\nmax_connections=%u\nidle_timeout=%u\n"
            "login_failures=%u\n",
            c->allocator_frames, c->statement_timeout_s, c->max_connections,
            c->idle_timeout_s, c->login_failures);
    setting_print_snapshots(c, out);
    fprintf(out, "linger=%u\n", c->linger_s);
    fprintf(out,
            "heartbeat=%u\nprofiler.budget_percent=%g\n"
            "profiler.guard_timeout=%u\n",
            c->heartbeat_s, c->budget_percent, c->guard_s);
    fprintf(out,
            "symbols.index=%s\nsymbols.keep_bytes=%" PRIu64
            "\nsymbols.memory=%" PRIu64 "\n",
            c->symbols_index ? "on" : "off", c->symbols_bytes,
            c->symbols_memory);
    setting_print_cluster(c, out);
}

bool
setting_is_reloadable(struct span key)
{
    for (enum config_key i = 0; i < CONFIG_KEYS; i++)
        if (span_is(key, settings[i].key))
            return settings[i].reloadable;
    return false;
}

void
setting_reload(struct config *c, const struct config *from)
{
    c->statement_timeout_s = from->statement_timeout_s;
    c->idle_timeout_s = from->idle_timeout_s;
    c->login_failures = from->login_failures;
    c->require_tls = from->require_tls;
    c->marks = from->marks;
    memcpy(c->allocator_frames, from->allocator_frames,
           sizeof(c->allocator_frames));
}

void
setting_reload_tls(struct config *c, const struct config *from)
{
    memcpy(c->tls_cert, from->tls_cert, sizeof(c->tls_cert));
    memcpy(c->tls_key, from->tls_key, sizeof(c->tls_key));
}
