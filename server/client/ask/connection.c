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
#include <glob.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "clean_text.h"
#include "client.h"
#include "connection.h"
#include "option_file.h"

enum { PORT = 9036, CONNECT_S = 10 };
enum { ER_DENIED = 1045, ER_NO_SUCH_DATABASE = 1049, ER_TLS_REQUIRED = 3159 };
enum { PROGRESS_BYTES = 80 };

/*
 * ---- the node that is meant if none is named ----
 *
 * Nodes are found by their sockets.  A wrong guess would show another
 * database's memory, so only a node that is alone is taken.
 */

enum { NODE_PATH = 128, NODES_TEXT = 512 };

#define NODE_SOCKETS "/run/heapwire/*/mysql.sock"

enum {
    NODES_NAMED = 16,
    ID_MAX = 16,
    BEFORE_ID = sizeof("/run/heapwire/") - 1
};

/* Answers how many there are.  The caller calls globfree(), even for 0. */
static size_t
list_sockets(glob_t *out)
{
    *out = (glob_t){0};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    return glob(NODE_SOCKETS, 0, NULL, out) == 0 ? out->gl_pathc : 0;
}

/* Writes the socket of the only node.  If there is none, or more than one,
 * writes NODE_SOCKETS: nobody listens there, and connection_explain() knows
 * that text. */
static void
node_find_socket(char out[NODE_PATH])
{
    glob_t found;
    bool one = list_sockets(&found) == 1;

    snprintf(out, NODE_PATH, "%s", one ? found.gl_pathv[0] : NODE_SOCKETS);
    globfree(&found);
}

/* Writes ids as "10001, 10002". */
static void
write_ids(const glob_t *found, char out[NODES_TEXT])
{
    size_t at = 0;

    for (size_t i = 0; i < found->gl_pathc && i < NODES_NAMED; i++) {
        const char *id = found->gl_pathv[i] + BEFORE_ID;
        int size = (int)strcspn(id, "/");

        at += (size_t)snprintf(out + at, NODES_TEXT - at, "%s%.*s",
                               i > 0 ? ", " : "", size < ID_MAX ? size : ID_MAX,
                               id);
    }
    if (found->gl_pathc > NODES_NAMED)
        snprintf(out + at, NODES_TEXT - at, ", ...");
}

/* Writes which nodes there are, and what to do to choose one. */
static void
node_list_others(char out[NODES_TEXT])
{
    char ids[NODES_TEXT];
    glob_t found;
    size_t count = list_sockets(&found);

    if (count > 0) {
        write_ids(&found, ids);
        snprintf(out, NODES_TEXT,
                 "%zu nodes: %.300s; name one with --socket "
                 "/run/heapwire/%.*s/mysql.sock",
                 count, ids, (int)strcspn(ids, ","), ids);
    } else if (access("/run/heapwire", R_OK | X_OK) != 0 && errno == EACCES) {
        snprintf(out, NODES_TEXT,
                 "this user may not look for nodes in /run/heapwire: name one "
                 "with --socket FILE, or with --host HOST and --user NAME");
    } else {
        snprintf(out, NODES_TEXT,
                 "there is no " NODE_SOCKETS
                 "; a node elsewhere is named with --socket FILE, which "
                 "heapwire-run said at its start, or with --host HOST; start "
                 "one with heapwire-run -- COMMAND");
    }
    globfree(&found);
}

/* ---- connecting ---- */

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

void
sql_string(const char *text, struct buffer *out)
{
    buffer_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buffer_char(out, '\\');
        buffer_char(out, *text);
    }
    buffer_char(out, '\'');
}
