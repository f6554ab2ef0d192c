/* connection.c - asks a node over libmariadb: see client.h. */
#include <errmsg.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean_text.h"
#include "client.h"

enum { PORT = 9036, CONNECT_S = 10, ER_TLS_REQUIRED = 3159 };
enum { PATH_ROOM = 4096, PROGRESS_ROOM = 80 };

/* Of the only node that has its directory in /run. */
static void
set_default_socket(MYSQL *mysql)
{
    glob_t found = {0};

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (glob("/run/heapwire/*/mysql.sock", 0, NULL, &found) == 0 &&
        found.gl_pathc == 1)
        mysql_optionsv(mysql, MARIADB_OPT_UNIXSOCKET, found.gl_pathv[0]);
    globfree(&found);
}

static void
on_progress(const MYSQL *mysql, unsigned stage, unsigned stages, double percent,
            const char *what, unsigned size)
{
    char clean[PROGRESS_ROOM + 1];

    (void)mysql;
    clean_text((struct span){what, size < PROGRESS_ROOM ? size : PROGRESS_ROOM},
               clean);
    fprintf(stderr, "\r%s, stage %u of %u, %.0f %%\033[K", clean, stage, stages,
            percent);
}

/* The file is read while connecting, and replaces what is set here. */
static bool
dial(MYSQL *mysql, const char *const *given)
{
    const char *home = getenv("HOME"); /* NOLINT: one thread */
    unsigned seconds = CONNECT_S, port = PORT, off = 0,
             tcp = MYSQL_PROTOCOL_TCP;
    char path[PATH_ROOM], *password = NULL;
    my_bool on = 1;

    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_optionsv(mysql, MARIADB_OPT_RESTRICTED_AUTH,
                   "mysql_native_password,caching_sha2_password");
    mysql_optionsv(mysql, MARIADB_OPT_PORT, &port);
    mysql_optionsv(mysql, MARIADB_OPT_SCHEMA, "heapwire");
    set_default_socket(mysql);
    snprintf(path, PATH_ROOM, "%s/.my.cnf", home ? home : "");
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_FILE, path);
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_GROUP, "heapwire");
    if (given['h']) /* "localhost", too */
        mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    if (given['c']) {
        mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, given['c']);
        mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
        mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
    }
    if (isatty(STDERR_FILENO))
        mysql_optionsv(mysql, MYSQL_PROGRESS_CALLBACK, on_progress);
    if (given['p'])
        password = getpass("Password: "); /* NOLINT: one thread */
    return mysql_real_connect(mysql, given['h'], given['u'], password, NULL,
                              given['P'] ? (unsigned)atoi(given['P']) : 0,
                              given['S'],
                              isatty(STDERR_FILENO) ? CLIENT_PROGRESS : 0) &&
           /* Again, whatever the file says: a node asks for no file of ours. */
           mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &off) == 0;
}

static enum client_status
complain(MYSQL *mysql, bool dialled, const char *what_to_do)
{
    unsigned number = mysql_errno(mysql);
    const char *text = mysql_error(mysql);
    char clean[MYSQL_ERRMSG_SIZE + 1];

    clean_text((struct span){text, strnlen(text, MYSQL_ERRMSG_SIZE)}, clean);
    if (number == ER_TLS_REQUIRED)
        what_to_do = ": --ssl-ca FILE, with the node's server-cert.pem";
    fprintf(stderr, "heapwire: %s%s\n", clean, what_to_do);
    return !dialled || (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR)
               ? CLIENT_NO_NODE
               : CLIENT_FAILED;
}

/* A cluster's table or view says so which nodes it lacks. */
static enum client_status
show_warnings(MYSQL *mysql)
{
    enum client_status status = CLIENT_OK;
    char clean[MYSQL_ERRMSG_SIZE + 1];
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;

    if (mysql_warning_count(mysql) > 0 &&
        mysql_query(mysql, "SHOW WARNINGS") == 0)
        rows = mysql_store_result(mysql);
    while (rows && (row = mysql_fetch_row(rows)) &&
           mysql_num_fields(rows) == 3 && row[2]) {
        clean_text((struct span){row[2], strnlen(row[2], MYSQL_ERRMSG_SIZE)},
                   clean);
        fprintf(stderr, "heapwire: %s\n", clean);
        if (strncmp(row[2], "node ", 5) == 0)
            status = CLIENT_FAILED;
    }
    mysql_free_result(rows);
    return status;
}

MYSQL_RES *
client_ask(const char *const *given, struct span statement, bool may_lack,
           enum client_status *status)
{
    static const char name_it[] =
        "\nname a node: --socket /run/heapwire/10001/mysql.sock, or --host";
    MYSQL mysql = {0}, *made = mysql_init(&mysql);
    MYSQL_RES *rows = NULL;
    bool answered;

    if (!made || !dial(made, given)) {
        *status =
            complain(&mysql, false, given['S'] || given['h'] ? "" : name_it);
    } else if (!strstr(mysql_get_server_info(made), "heapwire")) {
        fprintf(stderr, "heapwire: that is no heapwire node%s\n", name_it);
        *status = CLIENT_NO_NODE;
    } else {
        answered =
            mysql_real_query(made, statement.data, statement.size) == 0 &&
            ((rows = mysql_store_result(made)) || mysql_errno(made) == 0);
        if (isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr); /* of the progress */
        *status = !answered  ? complain(made, true, "")
                  : may_lack ? show_warnings(made)
                             : CLIENT_OK;
    }
    mysql_close(made);
    return rows;
}
