/*
 * mariadb_plugin.c - the agent as a plugin of MariaDB: heapwire.so.
 *
 * INSTALL SONAME 'heapwire', or plugin_load_add = heapwire.  It starts the
 * agent, and that starts heapwired.  A daemon plugin must carry the version of
 * the server; this one reads it from a built-in plugin when it is loaded, so
 * that one file fits all.  Where libheapwire.so is preloaded, the loader takes
 * heapwire_start and heapwire_stop from there: if that agent serves already,
 * the plugin starts and stops nothing.
 */
#include "mariadb_plugin_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "agent_protocol.h"
#include "heapwire.h"

#define EXPORT __attribute__((visibility("default")))
#define SOCKET "/mysql.sock"
/* MariaDB takes each directory in the data directory for a database, and a dump
 * of all databases fails at one whose name begins with a dot; inside a
 * database's directory it only looks at the files of tables. */
#define STATE_SUBDIR "mysql/.heapwire"

/* The service's version (1.0), which the server checks and then replaces by the
 * address of a struct mariadb_errors. */
EXPORT extern const struct mariadb_errors *my_print_error_service;
const struct mariadb_errors *my_print_error_service = (void *)0x0100;

enum { SETTINGS_BYTES = 4 * AGENT_PATH_MAX };

static unsigned node_id;
static char *listen_at, *state_dir, *config, *heapwired;
static char enabled;

/* shown as status variables */
static const char *agent = "off", *socket_shown = "";

static bool started; /* by this plugin */
static char dir[AGENT_PATH_MAX], heapwired_path[PATH_MAX];
static char socket_path[AGENT_PATH_MAX + sizeof(SOCKET)];

__attribute__((format(printf, 1, 2))) static void
refuse(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    my_print_error_service->print(MARIADB_ER_UNKNOWN, "heapwire: %s", 0, text);
}

/* ---- the agent ---- */

/* The configured state directory, or one in the data directory, created if
 * missing. */
static int
find_directory(void)
{
    /* it ends in a slash */
    const char *home = dlsym(RTLD_DEFAULT, "mysql_real_data_home");
    bool named = state_dir && *state_dir;
    int size = snprintf(dir, sizeof(dir), "%s%s",
                        named  ? state_dir
                        : home ? home
                               : "",
                        named ? "" : STATE_SUBDIR);

    if (size >= (int)sizeof(dir))
        return ENAMETOOLONG;
    return mkdir(dir, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/* The configured heapwired, or the one beside this library; NULL: started
 * elsewhere. */
static const char *
find_heapwired(void)
{
    static const char name[] = "heapwired";
    char *slash;
    Dl_info self;

    if (heapwired)
        return *heapwired ? heapwired : NULL;
    heapwired_path[0] = '\0';
    if (!dladdr(dir, &self) || !self.dli_fname ||
        !realpath(self.dli_fname, heapwired_path))
        return name;
    slash = strrchr(heapwired_path, '/');
    if (!slash || (size_t)(slash - heapwired_path) + sizeof(name) >=
                      sizeof(heapwired_path))
        return name;
    memcpy(slash + 1, name, sizeof(name));
    return heapwired_path;
}

/* Adds a setting, unless its value is empty. */
static void
add_agent_setting(char *settings, size_t *used, const char *name,
                  const char *value)
{
    int size = 0;

    if (value && *value)
        size = snprintf(settings + *used, SETTINGS_BYTES - *used, "%s%s\n",
                        name, value);
    *used += size > 0 ? (size_t)size : 0;
    if (*used >= SETTINGS_BYTES)
        *used = SETTINGS_BYTES - 1;
}

static int
start_plugin_agent(void)
{
    char settings[SETTINGS_BYTES], id[16];
    size_t used = 0;
    int error = find_directory();

    if (error != 0)
        return error;
    settings[0] = '\0';
    snprintf(id, sizeof(id), "%u", node_id);
    add_agent_setting(settings, &used, AGENT_ENV_STATE "=", dir);
    add_agent_setting(settings, &used, AGENT_ENV_HEAPWIRED "=",
                      find_heapwired());
    add_agent_setting(settings, &used, AGENT_ENV_OPTION "=--node-id=", id);
    add_agent_setting(settings, &used,
                      AGENT_ENV_OPTION "=--listen=", listen_at);
    add_agent_setting(settings, &used, AGENT_ENV_OPTION "=--config=", config);
    return used == SETTINGS_BYTES - 1 ? E2BIG : heapwire_start(settings);
}

static int
switch_agent_off(void)
{
    int error = started ? heapwire_stop() : 0;

    if (error != 0) {
        errno = error;
        refuse("the agent has not ended yet, it may be writing a profile: %m");
        return error;
    }
    started = false;
    agent = "off";
    socket_shown = "";
    return 0;
}

static int
switch_agent_on(void)
{
    int error;

    /* UNINSTALL did not wait for the agent: the server ignores its refusal */
    if (started && switch_agent_off() != 0)
        return EBUSY;
    error = start_plugin_agent();
    if (error == EALREADY) {
        agent = "preloaded";
        return 0;
    }
    if (error == 0) {
        started = true;
        agent = "serving";
        snprintf(socket_path, sizeof(socket_path), "%s" SOCKET, dir);
        socket_shown = socket_path;
        return 0;
    }
    errno = error;
    if (error == EBUSY)
        refuse("another process serves %s: name another heapwire_state_dir",
               dir);
    else if (error == EPERM)
        refuse("others may write to %s, or another user owns it", dir);
    else
        refuse("cannot serve in %s, with %s: %m", dir,
               find_heapwired() ? find_heapwired() : "no heapwired");
    return error;
}

/* ---- variables ---- */

/* ON, OFF, or a number; -1: neither. */
static int
parse_switch_value(struct mariadb_value *value)
{
    char buffer[16];
    int size = sizeof(buffer);
    long long number = 0;
    const char *text;

    if (value->value_type(value) != 0)
        return value->val_int(value, &number) == 0 && number >= 0 && number < 2
                   ? (int)number
                   : -1;
    text = value->val_str(value, buffer, &size);
    if (text && (strcasecmp(text, "on") == 0 || strcasecmp(text, "true") == 0))
        return 1;
    return text && (strcasecmp(text, "off") == 0 ||
                    strcasecmp(text, "false") == 0)
               ? 0
               : -1;
}

/* Applied in the check, since only a check can refuse. */
static int
check_enabled(void *thd, struct mariadb_variable *variable, void *save,
              struct mariadb_value *value)
{
    int on = parse_switch_value(value);

    (void)thd;
    (void)variable;
    if (on < 0) {
        refuse("heapwire_enabled is ON or OFF");
        return 1;
    }
    if (on != enabled && (on ? switch_agent_on() : switch_agent_off()) != 0)
        return 1;
    enabled = *(char *)save = (char)on;
    return 0;
}

static void
update_enabled(void *thd, struct mariadb_variable *variable, void *at,
               const void *save)
{
    (void)thd;
    (void)variable;
    *(char *)at = *(const char *)save;
}

static struct {
    struct mariadb_variable head;
    char *value;
    char default_value;
} enabled_variable = {{MARIADB_VAR_BOOL | MARIADB_VAR_OPCMDARG, "enabled",
                       "Whether the agent runs; OFF ends it and heapwired",
                       check_enabled, update_enabled},
                      &enabled,
                      1};
static struct mariadb_number_variable node_id_variable = {
    {MARIADB_VAR_INT | MARIADB_VAR_UNSIGNED | MARIADB_VAR_READONLY, "node_id",
     "This node's number in ADMIN EXECUTE ON", NULL, NULL},
    &node_id,
    10001,
    1,
    0x7fffffff,
    0};
static struct mariadb_text_variable
    listen_variable = {{MARIADB_VAR_STR | MARIADB_VAR_READONLY, "listen",
                        "ADDRESS:PORT of heapwired, or none", NULL, NULL},
                       &listen_at,
                       NULL},
    state_dir_variable = {{MARIADB_VAR_STR | MARIADB_VAR_READONLY, "state_dir",
                           "Private directory, by default " STATE_SUBDIR
                           " in the data directory",
                           NULL, NULL},
                          &state_dir,
                          NULL},
    config_variable = {{MARIADB_VAR_STR | MARIADB_VAR_READONLY, "config",
                        "heapwired's configuration file", NULL, NULL},
                       &config,
                       NULL},
    heapwired_variable = {{MARIADB_VAR_STR | MARIADB_VAR_READONLY, "heapwired",
                           "Path of heapwired, by default beside this library; "
                           "empty: something else starts it",
                           NULL, NULL},
                          &heapwired,
                          NULL};

static struct mariadb_variable *variables[] = {&enabled_variable.head,
                                               &node_id_variable.head,
                                               &listen_variable.head,
                                               &state_dir_variable.head,
                                               &config_variable.head,
                                               &heapwired_variable.head,
                                               NULL};

static struct mariadb_status status_variables[] = {
    {"heapwire_agent", (void *)&agent, MARIADB_SHOW_CHAR_PTR},
    {"heapwire_socket", (void *)&socket_shown, MARIADB_SHOW_CHAR_PTR},
    {NULL, NULL, 0}};

/* ---- the plugin ---- */

static int
init_agent_plugin(void *arg)
{
    (void)arg;
    return enabled ? switch_agent_on() != 0 : 0;
}

static int
deinit_agent_plugin(void *arg)
{
    (void)arg;
    return switch_agent_off() != 0;
}

static struct mariadb_daemon daemon_info;

/* Before the server reads the declaration. */
__attribute__((constructor)) static void
learn_version(void)
{
    const struct mariadb_plugin *built_in =
        dlsym(RTLD_DEFAULT, "builtin_maria_binlog_plugin");

    if (built_in && built_in->info)
        daemon_info.interface = *(const int *)built_in->info;
}

EXPORT extern int _maria_plugin_interface_version_;
EXPORT extern int _maria_sizeof_struct_st_plugin_;
EXPORT extern struct mariadb_plugin _maria_plugin_declarations_[];
int _maria_plugin_interface_version_ = MARIADB_INTERFACE;
int _maria_sizeof_struct_st_plugin_ = sizeof(struct mariadb_plugin);
struct mariadb_plugin _maria_plugin_declarations_[] = {
    {MARIADB_DAEMON_PLUGIN, &daemon_info, "heapwire", "heapwire",
     "jemalloc heap profiles over the MySQL protocol", MARIADB_LICENSE_BSD,
     init_agent_plugin, deinit_agent_plugin, 0x0001, status_variables,
     variables, HW_VERSION, MARIADB_MATURITY_GAMMA},
    {0}};
