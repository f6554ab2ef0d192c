/*
 * mariadb_plugin_api.h - the types of a daemon plugin of MariaDB 10.2 and
 * later.
 *
 * The layout of <mysql/plugin.h>, as far as we use it: that header is part of a
 * package of 600 MB, and its text is under the GPL.
 * tests/integration/cases/slow/mariadb_abi.sh compares the two.
 */
#ifndef HW_MARIADB_PLUGIN_API_H
#define HW_MARIADB_PLUGIN_API_H

#include <stdarg.h>

enum {
    MARIADB_INTERFACE = 0x010d,
    MARIADB_DAEMON_PLUGIN = 3,
    MARIADB_LICENSE_BSD = 2,
    MARIADB_MATURITY_GAMMA = 4, /* a stable server accepts these */
    /* Of a variable's flags. */
    MARIADB_VAR_BOOL = 0x0001,
    MARIADB_VAR_INT = 0x0002,
    MARIADB_VAR_STR = 0x0005,
    MARIADB_VAR_UNSIGNED = 0x0080,
    MARIADB_VAR_READONLY = 0x0200,
    MARIADB_VAR_OPCMDARG = 0x2000,
    MARIADB_VAR_MEMALLOC = 0x8000,
    /* The type of a status variable. */
    MARIADB_SHOW_CHAR_PTR = 6,
    MARIADB_ER_UNKNOWN = 1105
};

struct mariadb_value {
    int (*value_type)(struct mariadb_value *);
    const char *(*val_str)(struct mariadb_value *, char *buffer, int *length);
    int (*val_real)(struct mariadb_value *, double *out);
    int (*val_int)(struct mariadb_value *, long long *out);
    int (*is_unsigned)(struct mariadb_value *);
};

struct mariadb_variable;
typedef int mariadb_check(void *thd, struct mariadb_variable *variable,
                          void *save, struct mariadb_value *value);
typedef void mariadb_update(void *thd, struct mariadb_variable *variable,
                            void *at, const void *save);

struct mariadb_variable {
    int flags;
    const char *name, *comment;
    mariadb_check *check;
    mariadb_update *update;
};

struct mariadb_text_variable {
    struct mariadb_variable head;
    char **value;
    char *standard;
};

struct mariadb_number_variable {
    struct mariadb_variable head;
    unsigned *value, standard, least, most, block;
};

struct mariadb_status {
    const char *name;
    void *value;
    int type;
};

struct mariadb_daemon {
    int interface; /* the server's version, as 101119, times 256 */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): not our order */
struct mariadb_plugin {
    int type;
    void *info;
    const char *name, *author, *description;
    int license;
    int (*init)(void *);
    int (*deinit)(void *);
    unsigned version;
    struct mariadb_status *status;
    struct mariadb_variable **variables;
    const char *version_text;
    unsigned maturity;
};

/* A service: its pointer holds the version, 0x0100, until the server puts the
 * address of this there. */
struct mariadb_errors {
    void (*error)(unsigned number, unsigned long flags, ...);
    void (*print)(unsigned number, const char *format, unsigned long flags,
                  ...);
    void (*print_list)(unsigned number, const char *format, unsigned long flags,
                       va_list list);
};

#endif
