/*
 * daemon.c - see daemon.h.
 *
 * Parts start in the order in which they need each other: the keeper first,
 * which alone reads secrets, then the state directory's lock, the threads that
 * write below it, the server, the listeners.  A stop goes the other way: main's
 * loop runs until libuv has closed every handle, and only then are threads
 * joined, under a deadline.  A start that fails half way takes the same way
 * out, for each part accepts that it was never started.
 */
#include "daemon_config.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

#include "audit.h"
#include "budgets.h"
#include "certificate.h"
#include "clock.h"
#include "cluster.h"
#include "command.h"
#include "config.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "http.h"
#include "debug_fetcher.h"
#include "index_service.h"
#include "keeper.h"
#include "last_moment.h"
#include "log.h"
#include "memory.h"
#include "observe.h"
#include "server.h"
#include "sql.h"
#include "state_dir.h"
#include "store.h"
#include "supervised.h"
#include "auth.h"
#include "view_cache.h"
#include "memory_sampler.h"

#define HTTP_SOCKET "http.sock"

enum {
    END_MS = 3500 /* heapwire-run waits for 5 s */
};

/* ---- leaving root ---- */

/* SIGHUP and a new keeper read the file as the new user. */
static void
warn_of_reload(const char *path, const struct account *account)
{
    struct error err;

    if (!path || access(path, R_OK) == 0)
        return;
    error_sys(&err, ER_WRONG_VALUE, "%s cannot be read any more", path);
    log_fault("%s: SIGHUP changes nothing, and a restarted heapwire-keeper "
              "lets no account in, until uid %u can read it (chown root:%u, "
              "chmod 640; and the directories)",
              err.text, (unsigned)account->uid, (unsigned)account->gid);
}

static int
leave_root(void *arg, const struct account *account)
{
    struct daemon *d = arg;
    struct index_service *indexes = controller_indexes(d->controller);
    struct error err;

    /* Root owns the directory still, so nobody can replace a name in it. */
    if (listener_chown(&d->local, account->uid, account->gid, &err) != 0 ||
        listener_chown(&d->http_local, account->uid, account->gid, &err) != 0 ||
        store_give(controller_store(d->controller), account->uid, account->gid,
                   &err) != 0 ||
        (indexes &&
         index_service_give(indexes, account->uid, account->gid, &err) != 0) ||
        debug_fetcher_give(d->debug, account->uid, account->gid, &err) != 0 ||
        controller_observe_give(d->controller, account->uid, account->gid,
                                &err) != 0) {
        log_fault("%s", err.text);
        return -1;
    }
    /* A reload reads our own certificate again.  The agent's socket is given
     * after the directory: an agent that binds it meanwhile checks the
     * directory's owner after its bind. */
    if ((log_fd() >= 0 &&
         given_files_give(&d->given, log_fd(), account) != 0) ||
        fchown(d->state.lock, account->uid, account->gid) != 0 ||
        (!*d->config.tls_cert &&
         given_files_give_two(&d->given, CERTIFICATE_OWN, CERTIFICATE_OWN_KEY,
                              account) != 0) ||
        given_files_give_two(&d->given, DEATHS_FILE, LINGER_FILE, account) !=
            0 ||
        given_files_give_two(&d->given, LAST_MOMENT_FILE, LAST_MOMENT_AGAIN,
                             account) != 0 ||
        given_files_give_two(&d->given, BUDGETS_FILE, BUDGETS_NEW, account) !=
            0 ||
        memory_sampler_give(d->sampler, account->uid, account->gid) != 0 ||
        fchown(d->state.fd, account->uid, account->gid) != 0 ||
        given_files_give_two(&d->given, AGENT_SOCKET, AGENT_LOCK, account) !=
            0) {
        error_sys(&err, ER_UNKNOWN, "cannot give %s to uid %u",
                  d->config.state_dir, (unsigned)account->uid);
        log_fault("%s", err.text);
        return -1;
    }
    if (keeper_become(d->keeper, account, &err) != 0 ||
        become(account, &err) != 0) {
        log_fault("%s", err.text);
        return -1;
    }
    loop_lock(&d->server.loop);
    server_learn_name(&d->server);
    loop_unlock(&d->server.loop);
    log_line("became uid %u, gid %u", (unsigned)account->uid,
             (unsigned)account->gid);
    warn_of_reload(d->file, account);
    return 0;
}

/* ---- signals ---- */

static void
stop_daemon_services(void *arg)
{
    struct daemon *d = arg;

    listener_close(&d->local);
    listener_close(&d->tcp);
    listener_close(&d->http_local);
    listener_close(&d->http);
    follower_stop(&d->follower);
    supervised_stop(&d->supervised);
    keeper_watch_stop(&d->keeper_watch);
    for (size_t i = 0; d->signals_open && i < DAEMON_SIGNALS; i++)
        uv_close((uv_handle_t *)&d->signals[i], NULL);
    d->signals_open = false;
    state_dir_watch_stop(&d->state_watch);
    daemon_cluster_stop(&d->cluster);
    loop_lock(&d->server.loop);
    server_stop(&d->server);
    loop_unlock(&d->server.loop);
}

static void
on_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;

    if (number == SIGHUP) {
        daemon_reload_config(d);
        return;
    }
    log_line("ends, by signal %d", number);
    stop_daemon_services(d);
}

static void
on_state_dir_renewed(void *arg)
{
    struct daemon *d = arg;
    struct error err;

    given_files_note(&d->given, &d->state);
    loop_lock(&d->server.loop);
    if (!*d->config.tls_cert && daemon_load_tls(d, &err) != 0)
        log_fault("%s", err.text);
    loop_unlock(&d->server.loop);
}

/* An entry point may run the database as another user than heapwire-run. */
static void
database_comes(void *arg, uid_t uid, pid_t pid)
{
    struct daemon *d = arg;
    char why[NODE_ABSENCE_MAX] = "";

    follower_hint(&d->follower, uid, pid);
    if (state_dir_excludes(d->config.state_dir, geteuid(), uid, why,
                           sizeof(why)))
        log_line("%s", why);
    controller_set_absence(d->controller, pid, why);
}

static void
start_signals(struct daemon *d)
{
    static const int numbers[DAEMON_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t waits;

    for (size_t i = 0; i < DAEMON_SIGNALS; i++) {
        uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        uv_signal_start(&d->signals[i], on_signal, numbers[i]);
    }
    d->signals_open = true;
    sigemptyset(&waits);
    sigaddset(&waits, SIGTERM); /* heapwire-run's, which may be there */
    pthread_sigmask(SIG_UNBLOCK, &waits, NULL);
}

/* ---- start ---- */

static void
log_text(const char *line)
{
    log_line("%s", line);
}

static int
start_controller(struct daemon *d, struct error *err)
{
    char symbolizer[PATH_MAX];
    char snapshots[CONFIG_STATE_MAX + sizeof("/snapshots")];
    char symbols[CONFIG_STATE_MAX + sizeof("/symbols")];
    char unwind[CONFIG_STATE_MAX + sizeof("/unwind")];
    struct controller_options options = {
        .state_dir = d->config.state_dir,
        .symbolizer = symbolizer,
        .node_id = d->config.node_id,
        .budget_percent = d->config.budget_percent,
        .guard_s = d->config.guard_s,
        .dumpable = d->config.dumpable,
        .unprepared = d->config.profiling == CONFIG_PROFILING_OFF,
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes it */
        .attached = getenv(SUPERVISED_ATTACHED) != NULL,
        .segment = d->supervised.segment,
        .store = {.dir = snapshots,
                  .count = d->config.keep,
                  .bytes = d->config.keep_bytes,
                  .age_ms = (int64_t)d->config.keep_age_s * 1000},
        .index_dir = d->config.symbols_index ? symbols : NULL,
        .unwind_dir = d->config.symbols_index ? unwind : NULL,
        .index_bytes = d->config.symbols_bytes,
        .reader_mb = (uint32_t)(d->config.symbols_memory >> 20),
        .log = log_text};

    snprintf(snapshots, sizeof(snapshots), "%s/snapshots", d->config.state_dir);
    snprintf(symbols, sizeof(symbols), "%s/symbols", d->config.state_dir);
    snprintf(unwind, sizeof(unwind), "%s/unwind", d->config.state_dir);
    if (daemon_find_program("heapwire-symbolizer", symbolizer, err) != 0 ||
        daemon_start_debug(&d->config, &d->debug, err) != 0)
        return -1;
    options.debug = d->debug;
    d->controller = controller_start(&options, err);
    if (d->controller)
        d->views = view_cache_start(controller_store(d->controller),
                                    VIEW_THREADS, err);
    if (d->views)
        view_cache_set_wrappers(d->views, d->config.allocator_frames);
    return d->views ? 0 : -1;
}

static int
start_watch(struct daemon *d, struct error *err)
{
    struct memory_sampler_options how = {.state_dir = d->config.state_dir,
                                         .rules = d->config.marks,
                                         .log = log_text,
                                         .keeps_ends = d->supervised.line < 0,
                                         .segment = d->supervised.segment};

    d->sampler = memory_sampler_start(d->controller, &how, err);
    return d->sampler ? 0 : -1;
}

static int
start_server(struct daemon *d, struct error *err)
{
    struct sql_node node = {.id = d->config.node_id,
                            .started_ms = clock_wall_ms(),
                            .controller = d->controller,
                            .views = d->views,
                            .history = memory_sampler_history(d->sampler),
                            .trends = memory_sampler_trends(d->sampler),
                            .budgets = memory_sampler_budgets(d->sampler),
                            .state_dir = d->config.state_dir,
                            .socket = d->config.socket};

    if (uv_loop_init(&d->loop) != 0) {
        error_set(err, ER_UNKNOWN, "cannot make an event loop");
        return -1;
    }
    d->loop_open = true;
    if (!d->config.listen.none) {
        memcpy(node.address, d->config.listen.text,
               sizeof(d->config.listen.text));
        node.port = d->config.listen.port;
    }
    if (server_init(&d->server, &d->loop, &node, d->config.max_connections,
                    err) != 0)
        return -1;
    d->server_open = true;
    d->server.keeper = d->keeper;
    server_set_settings(&d->server, &d->config);
    server_set_users(&d->server, d->config.users);
    d->config.users = NULL;
    d->cluster = (struct daemon_cluster){&d->config, &d->server, NULL, NULL};
    if (daemon_cluster_identify(&d->cluster, err) != 0)
        return -1;
    if (loop_start(&d->server.loop, err) != 0)
        return -1;
    start_signals(d);
    supervised_start(&d->supervised, &d->loop, d->controller, &d->config,
                     stop_daemon_services, database_comes, d);
    keeper_watch_start(&d->keeper_watch, &d->loop, d->keeper,
                       daemon_reload_config, d);
    return 0;
}

static int
start_listeners(struct daemon *d, struct error *err)
{
    struct account account;
    char path[CONFIG_SOCKET_MAX + 1];

    snprintf(path, sizeof(path), "%s/" HTTP_SOCKET, d->config.state_dir);
    if (listener_open_local(&d->local, &d->server, &conversation,
                            d->config.socket, err) != 0 ||
        listener_open_local(&d->http_local, &d->server, &http_conversation,
                            path, err) != 0)
        return -1;
    state_dir_watch_start(&d->state_watch, &d->loop, &d->state,
                          d->config.state_dir, &d->supervised, &d->local,
                          &d->http_local, on_state_dir_renewed,
                          stop_daemon_services, d);
    daemon_steer_tcp(d);
    if (geteuid() != 0)
        return 0;
    if (!*d->config.user) {
        follower_start(&d->follower, &d->loop, d->controller, leave_root, d);
        return 0;
    }
    if (daemon_check_user(&d->config, &account, err) != 0)
        return -1;
    if (leave_root(d, &account) != 0) {
        error_set(err, ER_UNKNOWN, "cannot run as the user '%s'",
                  d->config.user);
        return -1;
    }
    return 0;
}

/* EX_... or 0. The loop must run afterwards even on failure, to close what was
 * opened. */
static int
start_daemon_services(struct daemon *d, struct error *err)
{
    struct account account;
    bool busy;

    if (daemon_check_user(&d->config, &account, err) != 0)
        return EX_CONFIG;
    if (state_dir_open(&d->state, d->config.state_dir, &busy, err) != 0)
        return busy ? EX_TEMPFAIL : EX_CONFIG;
    given_files_note(&d->given, &d->state);
    if (log_open(d->config.log, err) != 0)
        return EX_CONFIG;
    d->log_open = true;
    if (start_controller(d, err) != 0 || start_watch(d, err) != 0 ||
        start_server(d, err) != 0)
        return EX_OSERR;
    if (daemon_load_tls(d, err) != 0)
        return *d->config.tls_cert ? EX_CONFIG : EX_OSERR;
    if (start_listeners(d, err) != 0 ||
        daemon_cluster_start(&d->cluster, err) != 0)
        return EX_OSERR;
    log_line("heapwired " HW_VERSION " serves node %u in %s", d->config.node_id,
             d->config.state_dir);
    descriptors_leave_stdio(strcmp(d->config.log, "stderr") == 0);
    log_settle();
    return 0;
}

static void
shut_down_daemon(struct daemon *d, int status)
{
    struct end_watch end;

    if (d->server_open) {
        stop_daemon_services(d);
        uv_run(&d->loop, UV_RUN_DEFAULT);
        server_fini(&d->server);
    }
    end_watch_start(&end, END_MS, status);
    cluster_free(d->cluster.cluster); /* no session holds one of its answers */
    memory_sampler_stop(d->sampler);
    view_cache_stop(d->views);
    controller_stop(d->controller); /* nothing asks it or waits for it */
    debug_fetcher_stop(d->debug);
    end_watch_stop(&end);
    if (d->loop_open)
        uv_loop_close(&d->loop);
    uv_library_shutdown();
    audit_clear();
    if (d->log_open)
        log_close();
    state_dir_close(&d->state);
    keeper_stop(d->keeper);
    config_fini(&d->config);
}

int
daemon_run(const struct arguments *arguments)
{
    struct daemon *d = mem_zalloc(1, sizeof(*d));
    struct config_faults faults;
    struct error err;
    int rc = EX_CONFIG;

    if (!d)
        return EX_OSERR;
    d->file = arguments->config.file;
    d->state.fd = d->state.lock = -1;
    config_faults_init(&faults);
    supervised_init(&d->supervised);
    oom_score_raise();
    sql_start();
    d->keeper = keeper_start(arguments->argv, &err);
    if (d->keeper && keeper_load(d->keeper, "", &d->config, &faults) != 0) {
        daemon_print_faults(&faults);
    } else if (!d->keeper) {
        rc = EX_OSERR;
        daemon_print_error(&err);
    } else {
        daemon_print_state_note(&d->config);
        rc = start_daemon_services(d, &err);
        if (rc == 0 && arguments->wait)
            controller_set_absence(
                d->controller, 0,
                "heapwired waits for a database that has libheapwire.so "
                "preloaded, with its executable as HEAPWIRE_EXE and this state "
                "directory as HEAPWIRE_STATE_DIR in its environment");
        if (rc == 0)
            uv_run(&d->loop, UV_RUN_DEFAULT);
        else
            daemon_print_error(&err);
    }
    config_faults_fini(&faults);
    if (rc == 0)
        rc = d->state_watch.lost ? SUPERVISED_STATE_DIR_LOST : 0;
    shut_down_daemon(d, rc);
    mem_free(d);
    return rc;
}
