/*
 * client_plugin_api.h - an authentication plugin of libmysqlclient.
 *
 * What <mysql/client_plugin.h> adds to <mysql.h> for it: Debian's
 * libmariadb-dev ships that header without another that it includes.
 */
#ifndef HW_CLIENT_PLUGIN_API_H
#define HW_CLIENT_PLUGIN_API_H

#include <mysql.h>
#include <mysql/plugin_auth.h>

enum { CLIENT_PLUGIN_AUTH_TYPE = 2, CLIENT_PLUGIN_AUTH_INTERFACE = 0x0100 };

struct client_auth_plugin {
    struct st_mysql_client_plugin base; /* first */
    int (*authenticate)(MYSQL_PLUGIN_VIO *vio, MYSQL *mysql);
};

#endif
