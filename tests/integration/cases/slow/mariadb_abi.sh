#!/bin/sh
# mariadb_plugin_api.h against MariaDB's own header, from Debian's package.
set -eu
top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq libmariadbd-dev >/dev/null 2>&1 || {
    echo "skipped: no libmariadbd-dev"
    exit 0
}
dpkg --fsys-tarfile libmariadbd-dev*.deb | tar x ./usr/include
cat >abi.c <<'END'
#include <stddef.h>
#include <my_global.h>
#include <mysql/plugin.h>
#include "mariadb_plugin_api.h"
#define SAME(a, b) _Static_assert((a) == (b), #a)
#define FIELD(a, f, b, g) SAME(offsetof(struct a, f), offsetof(struct b, g))
SAME(MARIADB_INTERFACE >> 8, MARIA_PLUGIN_INTERFACE_VERSION >> 8);
SAME(MARIADB_DAEMON_PLUGIN, MYSQL_DAEMON_PLUGIN);
SAME(MARIADB_LICENSE_BSD, PLUGIN_LICENSE_BSD);
SAME(MARIADB_MATURITY_GAMMA, MariaDB_PLUGIN_MATURITY_GAMMA);
SAME(MARIADB_VAR_BOOL, PLUGIN_VAR_BOOL);
SAME(MARIADB_VAR_INT, PLUGIN_VAR_INT);
SAME(MARIADB_VAR_STR, PLUGIN_VAR_STR);
SAME(MARIADB_VAR_UNSIGNED, PLUGIN_VAR_UNSIGNED);
SAME(MARIADB_VAR_READONLY, PLUGIN_VAR_READONLY);
SAME(MARIADB_VAR_OPCMDARG, PLUGIN_VAR_OPCMDARG);
SAME(MARIADB_SHOW_CHAR_PTR, SHOW_CHAR_PTR);
SAME(sizeof(struct mariadb_plugin), sizeof(struct st_maria_plugin));
FIELD(mariadb_plugin, init, st_maria_plugin, init);
FIELD(mariadb_plugin, status, st_maria_plugin, status_vars);
FIELD(mariadb_plugin, variables, st_maria_plugin, system_vars);
FIELD(mariadb_plugin, maturity, st_maria_plugin, maturity);
FIELD(mariadb_value, val_int, st_mysql_value, val_int);
FIELD(mariadb_status, type, st_mysql_show_var, type);
static unsigned number;
static char *text;
static MYSQL_SYSVAR_UINT(number, number, 0, "", NULL, NULL, 1, 0, 2, 0);
static MYSQL_SYSVAR_STR(text, text, 0, "", NULL, NULL, NULL);
#define OF(v, f) offsetof(__typeof__(MYSQL_SYSVAR_NAME(v)), f)
SAME(OF(number, check), offsetof(struct mariadb_variable, check));
SAME(OF(number, value), offsetof(struct mariadb_number_variable, value));
SAME(OF(number, max_val), offsetof(struct mariadb_number_variable, most));
SAME(OF(text, def_val), offsetof(struct mariadb_text_variable, standard));
int main(void) { return number != 0 || text != NULL || MYSQL_SYSVAR(number) == MYSQL_SYSVAR(text); }
END
server=usr/include/mariadb/server
cc -std=gnu11 -DMYSQL_DYNAMIC_PLUGIN -I$server -I$server/private -I"$top/plugin/agent" abi.c -o abi
./abi
echo "the same"
