/*
 * host.c - see host.h.  Fills a table of functions, so that sql/ can list
 * sessions and settings without knowing this layer.
 */
#include "host.h"

#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "server.h"
#include "setting.h"
#include "auth.h"

static size_t
list_sessions(void *arg, struct sql_session_row *out, size_t max)
{
    struct server *server = arg;

    return registry_list(&server->registry, out, max);
}

static int
kill_session(void *arg, uint32_t id, bool query_only,
             const struct sql_identity *by, struct error *err)
{
    struct server *server = arg;

    return registry_kill(&server->registry, id, query_only, by, err);
}

static void
read_server_counts(void *arg, struct sql_counts *out)
{
    struct server *server = arg;

    registry_count(&server->registry, out);
}

/* Splits a line key=value; false: it is none. */
static bool
setting_row(struct span line, struct sql_setting_row *row)
{
    const char *equal = memchr(line.data, '=', line.size);
    struct span key, value;

    if (!equal)
        return false;
    key = (struct span){line.data, (size_t)(equal - line.data)};
    value = (struct span){equal + 1, line.size - key.size - 1};
    snprintf(row->name, sizeof(row->name), "%.*s", (int)key.size, key.data);
    snprintf(row->value, sizeof(row->value), "%.*s", (int)value.size,
             value.data);
    row->reloadable = setting_is_reloadable(key);
    return true;
}

static size_t
list_settings(void *arg, struct sql_setting_row *out, size_t max)
{
    struct server *server = arg;
    struct reader lines;
    struct span line;
    size_t n = 0;

    pthread_mutex_lock(&server->lock);
    if (server->settings) {
        lines = reader_of(server->settings, strlen(server->settings));
        while (n < max && reader_line(&lines, &line))
            n += setting_row(line, &out[n]);
    }
    pthread_mutex_unlock(&server->lock);
    return n;
}

static size_t
list_users(void *arg, struct sql_user_row *out, size_t max)
{
    struct server *server = arg;
    const struct user *user;
    size_t n;

    pthread_mutex_lock(&server->lock);
    for (n = 0; n < max && n < users_count(server->users); n++) {
        user = users_at(server->users, n);
        memset(&out[n], 0, sizeof(out[n]));
        memcpy(out[n].name, user->name, sizeof(user->name));
        out[n].native = user->verifier.has_native;
        out[n].token = user->verifier.is_token;
        out[n].privileges = user->privileges;
        out[n].connections =
            registry_count_user(&server->registry, user->name, NULL);
    }
    pthread_mutex_unlock(&server->lock);
    return n;
}

static size_t
list_audit(void *arg, struct sql_audit_row *out, size_t max)
{
    (void)arg;
    return audit_list(out, max);
}

void
host_init(struct server *server)
{
    server->node.host = (struct sql_host){
        .arg = server,
        .list_sessions = list_sessions,
        .kill = kill_session,
        .count = read_server_counts,
        .list_settings = list_settings,
        .list_users = list_users,
        .list_audit = list_audit,
    };
}
