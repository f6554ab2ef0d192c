/*
 * connection.c - asks a node over libmariadb: see client.h.
 *
 * Options come from three places, and the library lets the later one win: what
 * is set here, then the user's option file, then the arguments of
 * mysql_real_connect(), which are the command line's.  The node need not be
 * trusted: LOAD DATA LOCAL is off, only login methods that do not send the
 * password in the clear are allowed, and no control character of an error's
 * text reaches the terminal.  A server that is no heapwire node gets no
 * statement.
 */
#include <err.h>
#include <errmsg.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean_text.h"
#include "client.h"
#include "connection.h"
#include "find_node.h"
#include "option_file.h"

enum { PORT = 9036, CONNECT_S = 10 };
enum { ER_DENIED = 1045, ER_NO_SUCH_DATABASE = 1049, ER_TLS_REQUIRED = 3159 };
enum { PROGRESS_BYTES = 80 };

static void
print_clean_warning(const char *text)
{
    char clean[MYSQL_ERRMSG_SIZE + 1];

    clean_text((struct span){text, strnlen(text, MYSQL_ERRMSG_SIZE)}, clean);
    warnx("%s", clean);
}

static void
on_mysql_progress(const MYSQL *mysql, unsigned stage, unsigned stages,
                  double percent, const char *what, unsigned size)
{
    char clean[PROGRESS_BYTES + 1];

    (void)mysql;
    clean_text(
        (struct span){what, size < PROGRESS_BYTES ? size : PROGRESS_BYTES},
        clean);
    fprintf(stderr, "\r%s, stage %u of %u, %.0f %%\033[K", clean, stage, stages,
            percent);
}

/* Asks on the terminal once and keeps the answer, so that a lost connection is
 * made again without asking. */
const char *
connection_password(const char *const *given)
{
    static const char *password;

    if (given['p'] && !password)
        password = getpass("Password: "); /* NOLINT: one thread */
    return password;
}

void
connection_prepare(MYSQL *mysql, const char *const *given,
                   struct connection_target *target)
{
    unsigned wait = CONNECT_S, port = PORT, off = 0, tcp = MYSQL_PROTOCOL_TCP;
    char path[NODE_PATH];
    my_bool on = 1;

    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &wait);
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_optionsv(mysql, MARIADB_OPT_RESTRICTED_AUTH,
                   "mysql_native_password,caching_sha2_password");
    mysql_optionsv(mysql, MARIADB_OPT_PORT, &port);
    mysql_optionsv(mysql, MARIADB_OPT_SCHEMA, "heapwire");
    /* Sets a socket in any case: the library's default is a database's. */
    node_find_socket(path);
    mysql_optionsv(mysql, MARIADB_OPT_UNIXSOCKET, path);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", option_file_fd());
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_FILE, path);
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_GROUP, "heapwire");
    /* for "localhost" too, which the library would take to mean a socket */
    if (given['h'])
        mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    if (given['c']) {
        mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, given['c']);
        mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
        mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
    }
    *target = (struct connection_target){
        given['h']   ? given['h']
        : given['S'] ? "localhost" /* whatever host a file names */
                     : NULL,
        given['u'], connection_password(given), given['S'],
        given['P'] ? (unsigned)atoi(given['P']) : 0};
}

static bool
open_node_connection(MYSQL *mysql, const char *const *given)
{
    struct connection_target to;

    connection_prepare(mysql, given, &to);
    if (isatty(STDERR_FILENO))
        mysql_optionsv(mysql, MYSQL_PROGRESS_CALLBACK, on_mysql_progress);
    return mysql_real_connect(mysql, to.host, to.user, to.password, NULL,
                              to.port, to.socket,
                              isatty(STDERR_FILENO) ? CLIENT_PROGRESS : 0);
}

/* Writes the library's text.  If that ends in a bare errno or resolver's
 * number, the number becomes words. */
static void
write_fault(const char *text, char out[CONNECTION_TEXT])
{
    static const char bare[] = "system error: ";
    const char *at = strstr(text, bare), *why;
    char *end;
    long number;

    at = at ? at + sizeof(bare) - 2 : strrchr(text, '(');
    number = at ? strtol(at + 1, &end, 10) : 0;
    if (number == 0 || strcmp(end, *at == '(' ? ")" : "") != 0) {
        snprintf(out, CONNECTION_TEXT, "%s", text);
        return;
    }
    why = number == EINPROGRESS
              ? "refused, or not to be reached" /* the library asks no more */
          : number < 0 ? gai_strerror((int)number)
                       : strerror((int)number); /* NOLINT: one thread */
    snprintf(out, CONNECTION_TEXT, "%.*s%s%s", (int)(at - text) + 1, text, why,
             end);
}

void
connection_explain(unsigned number, const char *text, bool dialled,
                   const char *const *given, char out[CONNECTION_TEXT])
{
    static const char name_one[] =
        "; name a node: --socket /run/heapwire/10001/mysql.sock, or --host";
    const char *advice = "";
    size_t size;

    if (!dialled && strstr(text, NODE_SOCKETS)) {
        node_list_others(out);
        return;
    }
    write_fault(text, out);
    if (number == ER_TLS_REQUIRED)
        advice = ": --ssl-ca FILE, with the node's server-cert.pem";
    else if (number == ER_DENIED && !dialled)
        advice = ": --user NAME --password";
    else if (number == ER_NO_SUCH_DATABASE && !dialled)
        advice = ": that is a MySQL or MariaDB server, and no heapwire node; "
                 "name a node: --socket /run/heapwire/10001/mysql.sock, or "
                 "--host";
    else if (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR && !dialled &&
             !given['S'] && !given['h'])
        advice = name_one;
    size = strlen(out);
    snprintf(out + size, CONNECTION_TEXT - size, "%s", advice);
}

static enum client_status
report_connection_error(MYSQL *mysql, bool dialled, const char *const *given)
{
    unsigned number = mysql_errno(mysql);
    char text[CONNECTION_TEXT];

    connection_explain(number, mysql_error(mysql), dialled, given, text);
    print_clean_warning(text);
    return (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) || !dialled
               ? CLIENT_NO_NODE
               : CLIENT_FAILED;
}

/* Prints the warnings.  Those that start with "node" say which nodes a
 * cluster's table or view lacks, and make the status CLIENT_FAILED. */
static enum client_status
show_warnings(MYSQL *mysql)
{
    enum client_status status = CLIENT_OK;
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;

    if (mysql_warning_count(mysql) > 0 &&
        mysql_query(mysql, "SHOW WARNINGS") == 0)
        rows = mysql_store_result(mysql);
    while (rows && (row = mysql_fetch_row(rows)) &&
           mysql_num_fields(rows) == 3 && row[2]) {
        print_clean_warning(row[2]);
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
    MYSQL mysql = {0}, *made;
    MYSQL_RES *rows = NULL;
    struct sigaction pipe;

    sigaction(SIGPIPE, NULL, &pipe);
    /* this makes SIGPIPE ignored, so it is put back below */
    made = mysql_init(&mysql);
    if (!made || !open_node_connection(made, given)) {
        *status = report_connection_error(&mysql, false, given);
    } else if (!strstr(mysql_get_server_info(made), "heapwire")) {
        print_clean_warning("that is no heapwire node; name a node: --socket "
                            "/run/heapwire/10001/mysql.sock, or --host");
        *status = CLIENT_NO_NODE;
    } else {
        if (mysql_real_query(made, statement.data, statement.size) == 0)
            rows = mysql_store_result(made);
        if (isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr); /* clears the line of progress */
        *status = mysql_errno(made) ? report_connection_error(made, true, given)
                  : may_lack        ? show_warnings(made)
                                    : CLIENT_OK;
    }
    mysql_close(made);
    sigaction(SIGPIPE, &pipe, NULL);
    return rows;
}
