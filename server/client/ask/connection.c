/* connection.c - asks a node over libmariadb: see client.h. */
#include <err.h>
#include <errmsg.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clean_text.h"
#include "client.h"
#include "connection.h"

enum { PORT = 9036, CONNECT_S = 10, ER_DENIED = 1045, ER_TLS_REQUIRED = 3159 };
enum { LINE_ROOM = 4096 /* libmariadb's, too */, PROGRESS_ROOM = 80 };

static void
say(const char *text, const char *more)
{
    char clean[MYSQL_ERRMSG_SIZE + 1];

    clean_text((struct span){text, strnlen(text, MYSQL_ERRMSG_SIZE)}, clean);
    warnx("%s%s", clean, more);
}

/* ~/.my.cnf, without what is for databases: init-command, local-infile,
 * max-allowed-packet, and the files that it includes. */
static int
copy_options(void)
{
    const char *home = getenv("HOME"), *key; /* NOLINT: one thread */
    int copy = memfd_create("my.cnf", MFD_CLOEXEC);
    char line[LINE_ROOM];
    FILE *file;

    snprintf(line, sizeof(line), "%s/.my.cnf", home ? home : "");
    for (file = fopen(line, "re"); file && fgets(line, sizeof(line), file);) {
        key = line + strspn(line, " \t");
        if (strncmp(key, "init", 4) != 0 && strncmp(key, "local", 5) != 0 &&
            strncmp(key, "max", 3) != 0 && *key != '!')
            dprintf(copy, "%s", line);
    }
    if (file)
        fclose(file);
    return copy;
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

/* Asked for once: a connection that was lost is made anew without a word. */
const char *
connection_password(const char *const *given)
{
    static const char *password;

    if (given['p'] && !password)
        password = getpass("Password: "); /* NOLINT: one thread */
    return password;
}

int
connection_prepare(MYSQL *mysql, const char *const *given,
                   struct connection_target *target)
{
    unsigned wait = CONNECT_S, port = PORT, off = 0, tcp = MYSQL_PROTOCOL_TCP;
    int copy = copy_options();
    glob_t found = {0};
    char path[32];
    my_bool on = 1;

    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &wait);
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_optionsv(mysql, MARIADB_OPT_RESTRICTED_AUTH,
                   "mysql_native_password,caching_sha2_password");
    mysql_optionsv(mysql, MARIADB_OPT_PORT, &port);
    mysql_optionsv(mysql, MARIADB_OPT_SCHEMA, "heapwire");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (glob("/run/heapwire/*/mysql.sock", 0, NULL, &found) == 0 &&
        found.gl_pathc == 1) /* the only node */
        mysql_optionsv(mysql, MARIADB_OPT_UNIXSOCKET, found.gl_pathv[0]);
    globfree(&found);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_FILE, path);
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_GROUP, "heapwire");
    if (given['h']) /* "localhost", too */
        mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    if (given['c']) {
        mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, given['c']);
        mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
        mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
    }
    *target = (struct connection_target){
        given['h'], given['u'], connection_password(given), given['S'],
        given['P'] ? (unsigned)atoi(given['P']) : 0};
    return copy;
}

static bool
dial(MYSQL *mysql, const char *const *given)
{
    struct connection_target to;
    int copy = connection_prepare(mysql, given, &to);
    bool made;

    if (isatty(STDERR_FILENO))
        mysql_optionsv(mysql, MYSQL_PROGRESS_CALLBACK, on_progress);
    made = mysql_real_connect(mysql, to.host, to.user, to.password, NULL,
                              to.port, to.socket,
                              isatty(STDERR_FILENO) ? CLIENT_PROGRESS : 0);
    close(copy);
    return made;
}

const char *
connection_advice(unsigned number, bool dialled, const char *const *given)
{
    if (number == ER_TLS_REQUIRED)
        return ": --ssl-ca FILE, with the node's server-cert.pem";
    if (number == ER_DENIED && !dialled)
        return ": --user NAME --password";
    if (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR && !dialled &&
        !given['S'] && !given['h'])
        return "\nname a node: --socket /run/heapwire/10001/mysql.sock, or "
               "--host";
    return "";
}

static enum client_status
complain(MYSQL *mysql, bool dialled, const char *const *given)
{
    unsigned number = mysql_errno(mysql);

    say(mysql_error(mysql), connection_advice(number, dialled, given));
    return (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) || !dialled
               ? CLIENT_NO_NODE
               : CLIENT_FAILED;
}

/* A cluster's table or view says so which nodes it lacks. */
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
        say(row[2], "");
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
    made = mysql_init(&mysql); /* ignores it */
    if (!made || !dial(made, given)) {
        *status = complain(&mysql, false, given);
    } else if (!strstr(mysql_get_server_info(made), "heapwire")) {
        say("that is no heapwire node",
            "\nname a node: --socket /run/heapwire/10001/mysql.sock, or "
            "--host");
        *status = CLIENT_NO_NODE;
    } else {
        if (mysql_real_query(made, statement.data, statement.size) == 0)
            rows = mysql_store_result(made);
        if (isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr); /* of the progress */
        *status = mysql_errno(made) ? complain(made, true, given)
                  : may_lack        ? show_warnings(made)
                                    : CLIENT_OK;
    }
    mysql_close(made);
    sigaction(SIGPIPE, &pipe, NULL);
    return rows;
}
