/* daemon_config.c - see daemon_config.h. */
#include "daemon_config.h"

#include <string.h>

#include "certificate.h"
#include "command.h"
#include "config.h"
#include "errors.h"
#include "http.h"
#include "keeper.h"
#include "log.h"
#include "memory_sampler.h"
#include "server.h"
#include "tls_stream.h"
#include "auth.h"
#include "view_cache.h"

int
daemon_load_tls(struct daemon *d, struct error *err)
{
    struct certificate certificate = {0};
    SSL_CTX *context = NULL;

    if (keeper_certificate(d->keeper, d->config.state_dir, &certificate, err) ==
        0)
        context = tls_context_new(&certificate, err);
    certificate_fini(&certificate);
    if (!context)
        return -1;
    server_set_tls(&d->server, context);
    return 0;
}

void
daemon_steer_tcp(struct daemon *d)
{
    bool users = users_count(d->server.users) > 0;
    bool wanted =
        !d->config.listen.none && (users || *d->config.cluster.secret != '\0');
    bool http = !d->config.http.none && users;

    if (wanted && !listener_is_open(&d->tcp))
        listener_open_tcp(&d->tcp, &d->server, &conversation,
                          &d->config.listen);
    if (!wanted)
        listener_close(&d->tcp);
    if (http && !listener_is_open(&d->http))
        listener_open_tcp(&d->http, &d->server, &http_conversation,
                          &d->config.http);
    if (!http)
        listener_close(&d->http);
    if (!wanted && !d->config.listen.none)
        log_line("no TCP: no user has a password, and no [cluster] a secret "
                 "(heapwire-passwd makes both)");
}

/* Closes HTTP's port where another is wanted, or none. */
static void
leave_http(struct daemon *d, const struct config_address *wanted)
{
    char former[CONFIG_ADDRESS_TEXT], text[CONFIG_ADDRESS_TEXT];

    config_address_text(&d->config.http, former, sizeof(former));
    config_address_text(wanted, text, sizeof(text));
    if (strcmp(former, text) == 0)
        return;
    log_line("HTTP: %s instead of %s", text, former);
    listener_close(&d->http);
    server_end_web(&d->server);
}

static void
log_config_faults(const struct config_faults *faults)
{
    const char *text = faults->text.data ? faults->text.data : "no memory";
    size_t size = strlen(text);

    if (size > 0 && text[size - 1] == '\n')
        size--;
    log_line("the configuration stays as it was: %.*s", (int)size, text);
}

/* Takes config's users and returns the number of sessions it ended. */
static size_t
replace_users(struct daemon *d, struct config *config)
{
    server_set_users(&d->server, config->users);
    config->users = NULL;
    return server_end_stale_sessions(&d->server);
}

/* Takes over config's reloadable settings; the certificate only if it can be
 * loaded. */
static void
replace_settings(struct daemon *d, struct config *config)
{
    struct error err;
    bool tls = daemon_load_tls(d, &err) == 0;

    if (!tls)
        log_fault("the certificate stays as it was: %s", err.text);
    leave_http(d, &config->http);
    setting_reload(&d->config, config, tls);
    daemon_cluster_reload(&d->cluster, config);
    server_set_settings(&d->server, &d->config);
    memory_sampler_set_rules(d->sampler, &d->config.marks);
    view_cache_set_wrappers(d->views, d->config.allocator_frames);
    daemon_steer_tcp(d);
}

/* left: the keys of settings that changed and need a restart. */
static void
log_new_config(const struct daemon *d, const char *left, size_t ended)
{
    const struct config *config = &d->config;

    log_line("read the configuration again: users: %zu, statement timeout: "
             "%u s, idle timeout: %u s, login failures: %u, TLS: %s%s%s",
             users_count(d->server.users), config->statement_timeout_s,
             config->idle_timeout_s, config->login_failures,
             d->server.node.requires_tls ? "required" : "offered",
             *left ? "; these need a restart: " : "", left);
    if (ended > 0)
        log_line("%zu sessions ended: their users are gone from the "
                 "configuration, or have other privileges now",
                 ended);
}

/* The loop's lock is held throughout, so that no client logs in between the
 * former users and the new ones. */
void
daemon_reload_config(void *arg)
{
    struct daemon *d = arg;
    struct config config;
    struct config_faults faults;
    struct error err;
    char left[SETTING_KEYS_MAX];
    size_t ended;

    loop_lock(&d->server.loop);
    d->server.loads++;
    config_faults_init(&faults);
    if (log_reopen(&err) != 0)
        log_fault("%s", err.text);
    if (keeper_load(d->keeper, d->config.cluster.name, &config, &faults) == 0) {
        keeper_watch_loaded(&d->keeper_watch);
        ended = replace_users(d, &config);
        setting_left(&d->config, &config, left, sizeof(left));
        replace_settings(d, &config);
        log_new_config(d, left, ended);
    } else {
        log_config_faults(&faults);
    }
    config_fini(&config);
    config_faults_fini(&faults);
    loop_unlock(&d->server.loop);
}
