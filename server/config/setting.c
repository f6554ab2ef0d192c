/*
 * setting.c - see setting.h.
 *
 * One row per setting: what its value looks like, its field in struct config,
 * what is allowed.  The parser of the file, the command line, --check, reloads
 * and heapwire.settings all read this table, so a setting is one row here and
 * one paragraph in heapwire.ini(5).  setting_value.c reads and prints values by
 * their form; setting_other.c has those that no form describes.
 */
#include "setting.h"

#include <inttypes.h>
#include <string.h>

#include "agent_protocol.h"
#include "config.h"
#include "errors.h"
#include "index_service.h"
#include "state_dir.h"
#include "store.h"

#define FIELD(name)                                                            \
    .size = sizeof(((struct config *)NULL)->name),                             \
    .field = offsetof(struct config, name)

enum { WRITTEN_MAX = 4096 };

/* Indexed by enum config_profiling. */
static const char *const profilings[] = {"prepared", "on", "off", NULL};
/* Indexed by enum config_source. */
static const char *const sources[] = {"auto", "jemalloc", "interposed",
                                      "patched", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const off_on[] = {"off", "on", NULL};
static const char *const auto_no[] = {"auto", "no", NULL};
static const char *const logs[] = {"stderr", "syslog", NULL};

static const struct setting settings[CONFIG_KEYS] = {
    [CONFIG_ID] = {"id", "node-id", SETTING_NUMBER, FIELD(node_id), 1,
                   UINT32_MAX, .argument = "N", .help = "this node's number"},
    [CONFIG_LISTEN] =
        {"listen", "listen", SETTING_OTHER, FIELD(listen),
         .set = setting_set_listen, .print = setting_print_listen,
         .argument = "ADDR:PORT|none",
         .help = "TCP, once there are users; others than loopback require TLS"},
    [CONFIG_HTTP] = {"http", "http", SETTING_OTHER, FIELD(http),
                     .set = setting_set_http, .print = setting_print_http,
                     .reloadable = true, .argument = "ADDR:PORT|none",
                     .help = "HTTP, on the same terms"},
    [CONFIG_HTTP_GET_CHANGES] =
        {"http_get_changes", "http-get-changes", SETTING_TRUTH,
         FIELD(http_get_changes), .words = no_yes, .such_as = "yes or no",
         .reloadable = true, .argument = "yes|no",
         .help = "switch profiling by GET, too, as scripts for Doris do"},
    [CONFIG_STATE_DIR] = {"state_dir", "state-dir", SETTING_PATH,
                          FIELD(state_dir), .most = CONFIG_STATE_MAX,
                          .argument = "DIR",
                          .help = "private directory of the node "
                                  "(/run/heapwire/ID for root)"},
    [CONFIG_SOCKET] = {"socket", "socket", SETTING_PATH, FIELD(socket),
                       .most = CONFIG_SOCKET_MAX, .argument = "PATH",
                       .help = "unix socket (mysql.sock there)"},
    [CONFIG_USER] = {"user", "user", SETTING_OTHER, FIELD(user),
                     .set = setting_set_user, .argument = "NAME",
                     .help = "run as this user when started as root"},
    [CONFIG_LOG] = {"log", "log", SETTING_PATH, FIELD(log),
                    .most = CONFIG_PATH_MAX - 1, .words = logs,
                    .such_as = "stderr, syslog, or a path",
                    .argument = "stderr|syslog|PATH",
                    .help =
                        "where it logs (heapwired.log in the state directory)"},
    [CONFIG_TLS_CERT] = {"tls_cert", "tls-cert", SETTING_PATH, FIELD(tls_cert),
                         .most = CONFIG_PATH_MAX - 1, .reloadable = true,
                         .argument = "FILE",
                         .help = "certificate, PEM, its chain behind it"},
    [CONFIG_TLS_KEY] = {"tls_key", "tls-key", SETTING_PATH, FIELD(tls_key),
                        .most = CONFIG_PATH_MAX - 1, .reloadable = true,
                        .argument = "FILE",
                        .help = "its key (both: made in the state directory)"},
    [CONFIG_REQUIRE_TLS] = {"require_tls", "require-tls", SETTING_TRUTH,
                            FIELD(require_tls), .words = no_yes,
                            .such_as = "yes or no",
                            .print = setting_print_require_tls,
                            .reloadable = true, .argument = "yes|no",
                            .help = "refuse TCP without TLS"},
    [CONFIG_EXE] = {"exe", "exe", SETTING_PATH, FIELD(exe),
                    .most = CONFIG_PATH_MAX - 1, .argument = "PATH",
                    .help = "the database's executable"},
    [CONFIG_JEMALLOC] = {"jemalloc", "jemalloc", SETTING_PATH, FIELD(jemalloc),
                         .most = CONFIG_PATH_MAX - 1, .words = auto_no,
                         .such_as = "auto, no, or the path of libjemalloc",
                         .argument = "auto|no|PATH",
                         .help = "what heapwire-run preloads"},
    [CONFIG_PROFILING] =
        {"profiling", "profiling", SETTING_WORD, FIELD(profiling),
         .words = profilings, .such_as = "on, prepared or off",
         .argument = "on|prepared|off",
         .help = "profile from the start, be ready for it, or set nothing"},
    [CONFIG_PROFILING_SOURCE] =
        {"profiling_source", "profiling-source", SETTING_WORD,
         FIELD(profiling_source), .words = sources,
         .such_as = "auto, jemalloc, interposed or "
                    "patched",
         .argument = "auto|jemalloc|interposed|patched",
         .help = "who samples: jemalloc's own profiling, or heapwire's "
                 "preloaded recorder: interposed, for a shared malloc; "
                 "patched, for the program's own jemalloc; auto: jemalloc's "
                 "if the database has one that can, else interposed"},
    [CONFIG_ALLOCATOR] = {"allocator", "allocator", SETTING_TEXT,
                          FIELD(allocator), .most = CONFIG_PATH_MAX - 1,
                          .argument = "auto|NAME",
                          .help = "which of several allocators: the name of "
                                  "its mallctl, or its file"},
    [CONFIG_MALLCTL] = {"mallctl", "mallctl", SETTING_TEXT, FIELD(mallctl),
                        .most = CONFIG_PATH_MAX - 1, .argument = "[FILE:]WHERE",
                        .help =
                            "symbol or address of mallctl, if it is not found"},
    [CONFIG_PROCESS] = {"process", "process", SETTING_TEXT, FIELD(process),
                        .most = CONFIG_NAME_MAX,
                        .argument = "parent|child|NAME",
                        .help = "which process of the database"},
    [CONFIG_DUMPABLE] =
        {"dumpable", "dumpable", SETTING_TRUTH, FIELD(dumpable),
         .words = no_yes, .such_as = "yes or no", .argument = "yes|no",
         .help =
             "make a database that left root dumpable while it is looked at"},
    [CONFIG_START_TIMEOUT] =
        {"start_timeout", "start-timeout", SETTING_SECONDS,
         FIELD(start_timeout_s), 0, CONFIG_START_MAX_S, .such_as = "20 or 2m",
         .zero = "the start is not watched", .argument = "S",
         .help =
             "seconds in which the database reaches its main; 0: not watched"},
    [CONFIG_ALLOCATOR_FRAMES] =
        {"allocator_frames", "allocator-frames", SETTING_OTHER,
         FIELD(allocator_frames), .set = setting_set_frames, .reloadable = true,
         .argument = "NAMES",
         .help = "functions that also belong to the allocator, with commas "
                 "between: pool_new,db::Pool::*; none first: without those "
                 "that heapwire knows"},
    [CONFIG_TIMEOUT] = {"statement_timeout", "statement-timeout",
                        SETTING_NUMBER, FIELD(statement_timeout_s), 1,
                        CONFIG_TIMEOUT_MAX_S, "of seconds", .reloadable = true,
                        .argument = "S", .help = "seconds a statement may run"},
    [CONFIG_CONNECTIONS] = {"max_connections", "max-connections",
                            SETTING_NUMBER, FIELD(max_connections), 1,
                            CONFIG_CONNECTIONS_MAX, .argument = "N",
                            .help = "sessions at once"},
    [CONFIG_IDLE] =
        {"idle_timeout", "idle-timeout", SETTING_NUMBER, FIELD(idle_timeout_s),
         1, CONFIG_IDLE_MAX_S, "of seconds", .reloadable = true,
         .argument = "S",
         .help = "seconds without a statement after which a session is closed"},
    [CONFIG_LOGIN_FAILURES] = {"login_failures", "login-failures",
                               SETTING_NUMBER, FIELD(login_failures), 1,
                               CONFIG_LOGIN_FAILURES_MAX, .zero = "no limit",
                               .reloadable = true, .argument = "N",
                               .help = "failed logins in a row after which "
                                       "their address has to wait; 0: never"},
    [CONFIG_KEEP] = {"snapshots.keep", "snapshots-keep", SETTING_NUMBER,
                     FIELD(keep), 1, STORE_KEEP_MAX, "of snapshots",
                     .argument = "N", .help = "snapshots that are kept"},
    [CONFIG_KEEP_BYTES] = {"snapshots.keep_bytes", "snapshots-keep-bytes",
                           SETTING_BYTES, FIELD(keep_bytes), 1, INT64_MAX,
                           .such_as = "1073741824 or 1G", .argument = "N",
                           .help = "bytes of their files, all together"},
    [CONFIG_KEEP_AGE] = {"snapshots.keep_age", "snapshots-keep-age",
                         SETTING_SECONDS, FIELD(keep_age_s), 0,
                         CONFIG_AGE_MAX_S, .such_as = "86400 or 7d",
                         .zero = "whatever their age", .argument = "S",
                         .help = "seconds they stay; 0: whatever their age"},
    [CONFIG_RING] =
        {"snapshots.ring", "snapshots-ring", SETTING_MS, FIELD(marks.ring_ms),
         0, CONFIG_EVERY_MAX_S, .such_as = "3600 or 1h", .zero = "off",
         .reloadable = true, .argument = "S",
         .help =
             "seconds between snapshots that have room of their own; 0: none"},
    [CONFIG_AT_PERCENT] = {"snapshots.at_percent", "snapshots-at-percent",
                           SETTING_OTHER, FIELD(marks),
                           .set = setting_set_at_percent,
                           .print = setting_print_at_percent,
                           .reloadable = true, .argument = "N, N, ...",
                           .help = "percent of memory at which one is taken "
                                   "while profiling is on; or none"},
    [CONFIG_GROWTH] = {"snapshots.growth", "snapshots-growth", SETTING_BYTES,
                       FIELD(marks.growth), 0, INT64_MAX,
                       .such_as = "256M or 1G", .zero = "off",
                       .reloadable = true, .argument = "N",
                       .help =
                           "bytes of growth at which one is taken; 0: none"},
    [CONFIG_EVERY] = {"snapshots.every", "snapshots-every", SETTING_MS,
                      FIELD(marks.every_ms), CONFIG_EVERY_MIN_S,
                      CONFIG_EVERY_MAX_S, .such_as = "3600 or 1h",
                      .zero = "off", .reloadable = true, .argument = "S",
                      .help =
                          "seconds between snapshots by the clock; 0: none"},
    [CONFIG_HOURS_LEFT] = {"snapshots.hours_left", "snapshots-hours-left",
                           SETTING_NUMBER, FIELD(marks.hours_left), 1,
                           CONFIG_HOURS_LEFT_MAX, "of hours", .zero = "off",
                           .reloadable = true, .argument = "N",
                           .help = "one is taken if memory would meet its "
                                   "limit in so many hours; 0: none"},
    [CONFIG_MIN_INTERVAL] = {"snapshots.min_interval", "snapshots-min-interval",
                             SETTING_MS, FIELD(marks.min_interval_ms), 1,
                             CONFIG_EVERY_MAX_S, .such_as = "60 or 1m",
                             .reloadable = true, .argument = "S",
                             .help = "seconds at least between two of these"},
    [CONFIG_BUDGETS_EVERY] = {"budgets.every", "budgets-every", SETTING_MS,
                              FIELD(marks.budgets_ms), CONFIG_BUDGETS_MIN_S,
                              CONFIG_EVERY_MAX_S, .such_as = "60 or 5m",
                              .zero = "only at automatic snapshots",
                              .reloadable = true, .argument = "S",
                              .help = "seconds between checks of budgets; 0: "
                                      "only at automatic snapshots"},
    [CONFIG_LINGER] = {"linger", "linger", SETTING_SECONDS, FIELD(linger_s), 0,
                       CONFIG_LINGER_MAX_S, .such_as = "900 or 15m",
                       .zero = "not at all", .argument = "S",
                       .help = "seconds that heapwire-run keeps it after the "
                               "database died; 0: none"},
    [CONFIG_HEARTBEAT] = {"heartbeat", "heartbeat", SETTING_SECONDS,
                          FIELD(heartbeat_s), CONFIG_HEARTBEAT_MIN_S,
                          CONFIG_HEARTBEAT_MAX_S, .zero = "never",
                          .argument = "S",
                          .help = "seconds without a sign of life after which "
                                  "heapwire-run starts it again; 0: never"},
    [CONFIG_BUDGET] = {"profiler.budget_percent", "profiler-budget-percent",
                       SETTING_OTHER, FIELD(budget_percent),
                       .set = setting_set_budget, .print = setting_print_budget,
                       .argument = "N",
                       .help =
                           "percent of one CPU, for every eight CPUs, above "
                           "which profiling is switched off; 0: never"},
    [CONFIG_GUARD_TIMEOUT] =
        {"profiler.guard_timeout", "profiler-guard-timeout", SETTING_SECONDS,
         FIELD(guard_s), CONFIG_GUARD_MIN_S, AGENT_SECONDS_MAX, .zero = "never",
         .argument = "S",
         .help = "seconds without heapwired after which the "
                 "database switches profiling off; 0: never"},
    [CONFIG_SYMBOLS_INDEX] = {"symbols.index", "symbols-index", SETTING_TRUTH,
                              FIELD(symbols_index), .words = off_on,
                              .such_as = "on or off", .argument = "on|off",
                              .help = "make symbol indexes of costly programs"},
    [CONFIG_SYMBOLS_BYTES] = {"symbols.keep_bytes", "symbols-keep-bytes",
                              SETTING_BYTES, FIELD(symbols_bytes), 1, INT64_MAX,
                              .such_as = "1073741824 or 1G", .argument = "N",
                              .help = "bytes of them, all together"},
    [CONFIG_SYMBOLS_MEMORY] = {"symbols.memory", "symbols-memory",
                               SETTING_BYTES, FIELD(symbols_memory),
                               (uint64_t)CONFIG_READER_MIN_MB << 20,
                               (uint64_t)CONFIG_READER_MAX_MB << 20,
                               .argument = "N",
                               .help = "bytes of debug information that naming "
                                       "addresses may keep in memory"},
    [CONFIG_DEBUGINFOD_URLS] =
        {"symbols.debuginfod_urls", "symbols-debuginfod-urls", SETTING_TEXT,
         FIELD(debuginfod_urls), .most = CONFIG_URLS_MAX, .argument = "URLS",
         .help = "debuginfod servers, asked for programs without debug "
                 "information; or none (DEBUGINFOD_URLS)"},
    [CONFIG_DEBUGINFOD_TIMEOUT] = {"symbols.debuginfod_timeout",
                                   "symbols-debuginfod-timeout",
                                   SETTING_SECONDS, FIELD(debuginfod_timeout_s),
                                   1, CONFIG_DEBUGINFOD_MAX_S,
                                   .such_as = "120 or 2m", .argument = "S",
                                   .help = "seconds to fetch one file of it"},
    [CONFIG_CLUSTER_NAME] = {"cluster.name", NULL, SETTING_OTHER,
                             FIELD(cluster.name),
                             .set = setting_set_cluster_name},
    [CONFIG_CLUSTER_SECRET] = {"cluster.secret", NULL, SETTING_OTHER,
                               FIELD(cluster.secret), .set = setting_set_secret,
                               .reloadable = true, .secret = true},
    [CONFIG_CLUSTER_SECRET_FILE] = {"cluster.secret_file", NULL, SETTING_PATH,
                                    FIELD(cluster.secret_file),
                                    .most = CONFIG_CLUSTER_PATH - 1,
                                    .reloadable = true},
    [CONFIG_CONNECT_TIMEOUT] = {"cluster.connect_timeout", NULL, SETTING_NUMBER,
                                FIELD(cluster.connect_timeout_s), 1,
                                CONFIG_CONNECT_MAX_S, "of seconds"},
    [CONFIG_MAX_LINKS] = {"cluster.max_links", NULL, SETTING_NUMBER,
                          FIELD(cluster.links_max), CONFIG_LINKS_MIN,
                          CONFIG_LINKS_MAX},
    [CONFIG_CLUSTER_ROLE] = {"cluster.role", NULL, SETTING_WORD,
                             FIELD(cluster.role), .words = setting_roles,
                             .such_as = "backend or compute_node",
                             .reloadable = true},
    [CONFIG_ETCD] = {"cluster.etcd", NULL, SETTING_OTHER,
                     FIELD(cluster.etcd.endpoints), .set = setting_set_etcd},
    [CONFIG_ETCD_TTL] = {"cluster.etcd_ttl", NULL, SETTING_NUMBER,
                         FIELD(cluster.etcd.ttl_s), CONFIG_TTL_MIN_S,
                         CONFIG_TTL_MAX_S, "of seconds"},
    [CONFIG_ETCD_CACERT] = {"cluster.etcd_cacert", NULL, SETTING_PATH,
                            FIELD(cluster.etcd.cacert),
                            .most = CONFIG_CLUSTER_PATH - 1},
    [CONFIG_ETCD_CERT] = {"cluster.etcd_cert", NULL, SETTING_PATH,
                          FIELD(cluster.etcd.cert),
                          .most = CONFIG_CLUSTER_PATH - 1},
    [CONFIG_ETCD_KEY] = {"cluster.etcd_key", NULL, SETTING_PATH,
                         FIELD(cluster.etcd.key),
                         .most = CONFIG_CLUSTER_PATH - 1},
    [CONFIG_ETCD_USER] = {"cluster.etcd_user", NULL, SETTING_OTHER,
                          FIELD(cluster.etcd.user),
                          .set = setting_set_etcd_user},
    [CONFIG_ETCD_PASSWORD] = {"cluster.etcd_password", NULL, SETTING_OTHER,
                              FIELD(cluster.etcd.password),
                              .set = setting_set_etcd_password, .secret = true},
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

const char *
setting_argument(enum config_key key)
{
    return settings[key].argument;
}

const char *
setting_help(enum config_key key)
{
    return settings[key].help;
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
    const struct setting *s = &settings[key];

    return s->set ? s->set(config, value, err)
                  : setting_read(s, value, (char *)config + s->field, err);
}

int
setting_connections(const char *value, uint32_t *out, struct error *err)
{
    return setting_read(&settings[CONFIG_CONNECTIONS], value, out, err);
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
    config->http.port = CONFIG_HTTP_PORT;
    config->budget_percent = CONFIG_DEFAULT_BUDGET;
    config->linger_s = CONFIG_DEFAULT_LINGER_S;
    config->heartbeat_s = CONFIG_DEFAULT_HEARTBEAT_S;
    config->guard_s = CONFIG_DEFAULT_GUARD_S;
    config->marks = marks_defaults;
    config->marks.ring_ms = store_defaults.ring_ms;
    config->symbols_index = true;
    config->symbols_bytes = index_service_defaults.rules.bytes;
    config->symbols_memory = (uint64_t)CONFIG_READER_MB << 20;
    config->debuginfod_timeout_s = CONFIG_DEFAULT_DEBUGINFOD_S;
    config->keep = store_defaults.count;
    config->keep_bytes = store_defaults.bytes;
    config->keep_age_s = (uint32_t)(store_defaults.age_ms / 1000);
    snprintf(config->listen.text, sizeof(config->listen.text), "127.0.0.1");
    snprintf(config->http.text, sizeof(config->http.text), "127.0.0.1");
    config->profiling = CONFIG_PROFILING_PREPARED;
    config->dumpable = true;
    config->start_timeout_s = CONFIG_DEFAULT_START_S;
    snprintf(config->jemalloc, sizeof(config->jemalloc), "auto");
    snprintf(config->allocator, sizeof(config->allocator), "auto");
    snprintf(config->process, sizeof(config->process), "parent");
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
    /* Through setting_apply(), so that a default obeys the same limits. */
    return setting_apply(config, CONFIG_STATE_DIR, path, err);
}

int
setting_complete(struct config *config, struct error *err)
{
    char path[CONFIG_PATH_MAX + 32];

    /* Without TCP there is no HTTP over it, either; and next to a port that the
     * kernel chooses (0, for tests), a fixed one would be a surprise. */
    if (!config->http_given &&
        (config->listen.none || config->listen.port == 0 ||
         config_addresses_clash(&config->listen, &config->http)))
        config->http.none = true;
    if (!*config->state_dir && default_state_dir(config, err) != 0)
        return -1;
    if (!*config->socket) {
        snprintf(path, sizeof(path), "%s/mysql.sock", config->state_dir);
        if (setting_apply(config, CONFIG_SOCKET, path, err) != 0)
            return -1;
    }
    if (!*config->log) {
        snprintf(path, sizeof(path), "%s/heapwired.log", config->state_dir);
        if (setting_apply(config, CONFIG_LOG, path, err) != 0)
            return -1;
    }
    return 0;
}

void
setting_print(const struct config *config, FILE *out)
{
    for (enum config_key k = 0; k < CONFIG_KEYS; k++)
        setting_write(&settings[k], config, out);
}

bool
setting_is_reloadable(struct span key)
{
    for (enum config_key i = 0; i < CONFIG_KEYS; i++)
        if (span_is(key, settings[i].key))
            return settings[i].reloadable;
    return false;
}

/* Writes the value as --check prints it into out; "" if that fails. */
static void
print_setting_value(const struct setting *s, const struct config *config,
                    char *out, size_t size)
{
    FILE *stream = fmemopen(out, size, "w");

    *out = '\0';
    if (!stream)
        return;
    setting_write(s, config, stream);
    fclose(stream);
}

void
setting_default(enum config_key key, char *out, size_t size)
{
    const struct setting *s = &settings[key];
    char text[WRITTEN_MAX];
    struct config config;

    setting_defaults(&config);
    print_setting_value(s, &config, text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    snprintf(out, size, "%s", text + strcspn(text, "=") + (*text != '\0'));
    if (s->form == SETTING_BYTES) {
        static const char units[][2] = {"", "K", "M", "G"};
        size_t unit = 0;
        uint64_t bytes;

        memcpy(&bytes, (const char *)&config + s->field, sizeof(bytes));
        for (; unit < 3 && bytes > 0 && bytes % 1024 == 0; unit++)
            bytes /= 1024;
        snprintf(out, size, "%" PRIu64 "%s", bytes, units[unit]);
    }
}

void
setting_left(const struct config *c, const struct config *from, char *out,
             size_t size)
{
    char now[WRITTEN_MAX], then[WRITTEN_MAX];
    size_t at = 0;

    *out = '\0';
    for (enum config_key k = 0; k < CONFIG_KEYS && at < size; k++) {
        if (settings[k].reloadable)
            continue;
        /* Compared as they are printed: one comparison for all forms.  Secrets
         * print the same whatever they are. */
        print_setting_value(&settings[k], c, now, sizeof(now));
        print_setting_value(&settings[k], from, then, sizeof(then));
        if (strcmp(now, then) != 0)
            at += (size_t)snprintf(out + at, size - at, "%s%s",
                                   at > 0 ? ", " : "", settings[k].key);
    }
}

void
setting_reload(struct config *c, const struct config *from, bool tls)
{
    for (enum config_key k = 0; k < CONFIG_KEYS; k++)
        if (settings[k].reloadable &&
            (tls || (k != CONFIG_TLS_CERT && k != CONFIG_TLS_KEY)))
            memcpy((char *)c + settings[k].field,
                   (const char *)from + settings[k].field, settings[k].size);
}
