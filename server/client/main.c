/*
 * main.c - heapwire: asks nodes from a command line.
 *
 * Ctrl-C needs no code: a node ends the statement of a client that is gone.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "bundle.h"
#include "clean_text.h"
#include "client.h"
#include "doctor.h"
#include "show_rows.h"
#include "sql_string.h"
#include "top.h"

/* Of node_id, status, result: in text each line begins with its node, but where
 * it is alone.  False: a node failed. */
static bool
client_show_nodes(MYSQL_RES *rows, enum client_form form, bool alone)
{
    bool all = true, ok;
    struct span line;
    struct reader r;
    MYSQL_ROW row;

    while ((row = mysql_fetch_row(rows))) {
        ok = row[1] && strcmp(row[1], "OK") == 0;
        all = all && ok;
        r = reader_of(row[2], row[2] ? mysql_fetch_lengths(rows)[2] : 0);
        for (bool more = form == CLIENT_TEXT; more;
             more = reader_left(&r) > 0) {
            line = (struct span){"", 0}; /* of an answer without any */
            (void)reader_line(&r, &line);
            if (!alone || !ok)
                printf("%llu%s", row[0] ? strtoull(row[0], NULL, 10) : 0,
                       ok ? ": " : ": ERROR: ");
            client_show(line, CLIENT_LINES);
            putchar('\n');
        }
    }
    mysql_data_seek(rows, 0);
    mysql_fetch_fields(rows)->type = MYSQL_TYPE_LONGLONG; /* as elsewhere */
    if (form != CLIENT_TEXT)
        client_show_rows(rows, form);
    return all;
}

enum { STATEMENT_MAX = 16 << 20, PORT_MAX = 65535, LETTERS = 128 };

static const char not_nodes[] =
    "NODES are ids with commas between, or ALL, and not ";

static const char forms[] =
    " dot text top tree collapsed flamegraph svg pdf calls pprof raw "
    "address_names export ";

static const char help[] =
    "usage: heapwire [OPTION...] diagnose [NODES]\n"
    "       heapwire [OPTION...] on NODES SCRIPT\n"
    "       heapwire [OPTION...] sql STATEMENT\n"
    "       heapwire [OPTION...] get FORM [SNAPSHOT]\n"
    "       heapwire [OPTION...] bundle [SNAPSHOT...] --output FILE\n"
    "       heapwire [OPTION...] top [VIEW]\n"
    "       heapwire [OPTION...] doctor [-- COMMAND...]\n\n"
    "diagnose says why the database's memory is so large, and what to do, of "
    "the\n"
    "node that is asked or of NODES: ids with commas between, or ALL.  on runs "
    "a\n"
    "script on NODES.  sql shows rows.\n"
    "get writes a view of a snapshot, or of the heap now: FORM is dot,\n"
    "text, top, tree, collapsed, flamegraph, svg, pdf, calls, pprof, raw,\n"
    "address_names or export.  bundle writes one HTML file that opens offline\n"
    "and can be mailed: the heap now and the newest snapshots, or those "
    "named,\n"
    "and what else the node knows.  top shows all nodes on the terminal: VIEW\n"
    "is functions, threads, running, waste, diff or diagnosis.  doctor says\n"
    "what stops which feature, of the node, or of a COMMAND that does not run\n"
    "yet.\n\n"
    "  --socket FILE, -S  the node's socket; the only one in /run is found\n"
    "  --host HOST, -h    or its address\n"
    "  --port PORT, -P    (9036)\n"
    "  --user NAME, -u    the account\n"
    "  --password, -p     ask for its password, which ~/.my.cnf may have\n"
    "  --ssl-ca FILE      use TLS, and trust this certificate alone\n"
    "  --json             rows as a JSON array\n"
    "  --tsv              rows with tabs between\n"
    "  --output FILE, -o  get and bundle write there\n"
    "  --hash-names       in a bundle, functions have no names that one can "
    "read\n"
    "  --batch, -b        top prints tables\n"
    "  --count N, -n      so many\n"
    "  --interval S, -d   seconds between two (2)\n"
    "  --help             print this\n";

/* What diagnose stands for. */
static char on_word[] = "on", diagnosis_script[] =
                                  "System.print(HeapProf.getInstance()"
                                  ".diagnose())";

static enum client_status
usage(const char *why, const char *what)
{
    warnx("%s%s\ntry heapwire --help", why, what);
    return CLIENT_USAGE;
}

/* Closes out, after all that was written to it. */
static enum client_status
finish(FILE *out, const char *name)
{
    if (out && fflush(out) == 0 && ferror(out) == 0 && fclose(out) == 0)
        return CLIENT_OK;
    warn("%s", name);
    return CLIENT_FAILED;
}

static enum client_status
write_nothing(void)
{
    warnx("the node did not answer that");
    return CLIENT_FAILED;
}

static bool
are_nodes(const char *what)
{
    return (strspn(what, "0123456789 ,") == strlen(what) &&
            !strstr(what, ",,") && *what && strspn(what, " ,") == 0 &&
            what[strlen(what) - 1] != ',') ||
           strncmp(what, "ALL", 3) == 0;
}

/* The id of the node that is asked. */
static enum client_status
find_own_id(const char *const *given, char out[32])
{
    static const char statement[] = "SELECT id FROM heapwire.nodes WHERE self";
    enum client_status status = CLIENT_FAILED;
    MYSQL_RES *rows = client_ask(
        given, (struct span){statement, sizeof(statement) - 1}, false, &status);
    MYSQL_ROW row = rows ? mysql_fetch_row(rows) : NULL;

    if (row && row[0])
        snprintf(out, 32, "%s", row[0]);
    else if (status == CLIENT_OK)
        status = write_nothing();
    mysql_free_result(rows);
    return status;
}

/* Rows are asked for as rows. */
static enum client_status
make_diagnosis(struct buffer *out, const char *nodes)
{
    buffer_text(out, "SELECT * FROM heapwire.");
    if (!nodes)
        buffer_text(out, "diagnosis");
    else if (!are_nodes(nodes))
        return usage(not_nodes, nodes);
    else if (*nodes == 'A')
        buffer_text(out, "cluster_diagnosis");
    else
        buffer_format(out, "cluster_diagnosis WHERE node_id IN (%s)", nodes);
    return CLIENT_OK;
}

/* The statement for a command, of which words[0] is the name. */
static enum client_status
make(struct buffer *out, char **words, int count)
{
    const char *what = words[1];
    char form[32];

    if (*words[0] == 's') {
        buffer_text(out, what);
    } else if (*words[0] == 'g') {
        snprintf(form, sizeof(form), " %s ", what);
        if (strchr(what, ' ') || !strstr(forms, form))
            return usage("there is no form ", what);
        buffer_format(out, "SELECT %s(", what);
        sql_string(count > 2 ? words[2] : "now", out);
        buffer_char(out, ')');
    } else {
        if (!are_nodes(what))
            return usage(not_nodes, what);
        /* A single node would answer without a row for itself: twice. */
        buffer_format(out, "ADMIN EXECUTE ON %s%s%s ", what,
                      strpbrk(what, ",A") ? "" : ", ",
                      strpbrk(what, ",A") ? "" : what);
        sql_string(words[2], out);
    }
    return out->failed ? usage("a statement has at most 16 MB", "") : CLIENT_OK;
}

static enum client_status
write_view(MYSQL_RES *rows, const char *file)
{
    MYSQL_ROW row = rows ? mysql_fetch_row(rows) : NULL;
    FILE *out = stdout;
    struct span view;

    if (!row || !row[0])
        return write_nothing();
    view = (struct span){row[0], mysql_fetch_lengths(rows)[0]};
    if (file)
        out = fopen(file, "we");
    if (!file && isatty(STDOUT_FILENO))
        client_show(view, CLIENT_LINES);
    else if (out)
        fwrite(view.data, 1, view.size, out);
    return file ? finish(out, file) : CLIENT_OK;
}

/* given: by an option's letter, its value or "". */
static enum client_status
run(const char *const *given, char **words, int count)
{
    enum client_form form = given['j']   ? CLIENT_JSON
                            : given['t'] ? CLIENT_TSV
                                         : CLIENT_TEXT;
    const char *port = given['P'] ? given['P'] : "1";
    const char *name = count > 0 ? words[0] : "";
    bool on = strcmp(name, "on") == 0, get = strcmp(name, "get") == 0,
         top = strcmp(name, "top") == 0, doctor = strcmp(name, "doctor") == 0,
         bundle = strcmp(name, "bundle") == 0,
         diagnose = strcmp(name, "diagnose") == 0;
    char own[32] = "", *page[] = {on_word, own, diagnosis_script};
    enum client_status status, shown = CLIENT_OK;
    MYSQL_RES *rows = NULL;
    struct buffer text;

    if (!on && !get && !top && !doctor && !bundle && !diagnose &&
        strcmp(name, "sql") != 0)
        return usage("say diagnose, on, sql, get, bundle, top or doctor", "");
    if (!top && (given['b'] || given['n'] || given['d']))
        return usage("--batch, --count and --interval are top's, not of ",
                     name);
    if (!given['b'] && given['n'])
        return usage("--count needs --batch", "");
    if ((top && given['j']) || ((top || doctor) && (given['t'] || given['o'])))
        return usage("--json, --tsv and --output are not all of ", name);
    if (!doctor && !bundle && count != 2 + on && !(get && count == 3) &&
        !((top || diagnose) && count == 1))
        return usage("too few or too many words after ", name);
    if (port[strspn(port, "0123456789")] || atoi(port) < 1 ||
        atoi(port) > PORT_MAX)
        return usage("a port is 1 to 65535, and not ", port);
    if (bundle)
        return given['o'] ? bundle_write(given, words + 1, count - 1,
                                         given['N'], given['o'])
                          : usage("say where: --output FILE", "");
    if (doctor) /* its status is of its own */
        return (enum client_status)doctor_run(given,
                                              count > 1 ? words + 1 : NULL);
    if (top)
        return top_run(given, count > 1 ? words[1] : NULL);
    buffer_init(&text, STATEMENT_MAX);
    if (diagnose && form == CLIENT_TEXT && count == 1 &&
        (status = find_own_id(given, own)) != CLIENT_OK)
        return status;
    if (diagnose && form == CLIENT_TEXT) {
        on = true;
        page[1] = count > 1 ? words[1] : own;
        status = make(&text, page, 3);
    } else if (diagnose) {
        status = make_diagnosis(&text, count > 1 ? words[1] : NULL);
    } else {
        status = make(&text, words, count);
    }
    if (status == CLIENT_OK)
        rows = client_ask(given, (struct span){text.data, text.size}, !on,
                          &status);
    if (status == CLIENT_OK && on && (!rows || mysql_num_fields(rows) != 3))
        shown = write_view(NULL, NULL); /* there is none */
    else if (rows && on)
        shown = client_show_nodes(rows, form, *own) ? CLIENT_OK : CLIENT_FAILED;
    else if (get && (rows || status == CLIENT_OK))
        shown = write_view(rows, given['o']);
    else if (rows || (status == CLIENT_OK && form == CLIENT_JSON))
        client_show_rows(rows, form);
    mysql_free_result(rows);
    buffer_fini(&text);
    return status == CLIENT_OK ? shown : status;
}

int
main(int argc, char **argv)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 'S'},
        {"host", required_argument, NULL, 'h'},
        {"port", required_argument, NULL, 'P'},
        {"user", required_argument, NULL, 'u'},
        {"password", no_argument, NULL, 'p'},
        {"ssl-ca", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {"tsv", no_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'},
        {"hash-names", no_argument, NULL, 'N'},
        {"batch", no_argument, NULL, 'b'},
        {"count", required_argument, NULL, 'n'},
        {"interval", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'H'},
        {0}};
    const char *given[LETTERS] = {NULL};
    enum client_status status = CLIENT_OK;
    int letter;

    /* Where one is closed, the connection must not take its place. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/full", O_RDWR) < 0)
            return CLIENT_FAILED;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((letter = getopt_long(argc, argv, "S:h:P:u:po:bn:d:", options,
                                 NULL)) != -1) {
        if (letter == '?')
            return CLIENT_USAGE; /* getopt has said why */
        given[letter] = optarg ? optarg : "";
    }
    if (given['H'])
        fputs(help, stdout);
    else
        status = run(given, argv + optind, argc - optind);
    return finish(stdout, "standard output") == CLIENT_OK ? (int)status
                                                          : CLIENT_FAILED;
}
