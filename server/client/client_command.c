/*
 * client_command.c - see client_command.h.
 *
 * A statement is sent as it was typed: the node does the work, and this program
 * only prints what comes back.  Scripts on other nodes go through ADMIN EXECUTE
 * ON, which answers a row per node, and a node that failed is a row whose
 * status is not OK. Text has a line per line of an answer, with the node's id
 * before it; JSON and TSV print the rows themselves.
 */
#include "client_command.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "show_rows.h"
#include "client.h"

enum { STATEMENT_MAX = 16 << 20, ID_BYTES = 32 };

static const char not_nodes[] =
    "NODES must be ids with commas between, or ALL, not ";

static const char too_long[] = "a statement has at most 16 MB";

static const char diagnosis_script[] =
    "System.print(HeapProf.getInstance().diagnose())";

enum client_status
command_usage(const char *why, const char *what)
{
    warnx("%s%s\ntry heapwire --help", why, what);
    return CLIENT_USAGE;
}

static enum client_form
choose_form(const char *const *given)
{
    return given['j'] ? CLIENT_JSON : given['t'] ? CLIENT_TSV : CLIENT_TEXT;
}

/* Prints rows of (node_id, status, result).  In text, each line starts with its
 * node's id unless alone is set: then one node was asked, and its id would say
 * nothing.  Answers false if a node failed. */
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
            /* stays as it is if an answer is empty */
            line = (struct span){"", 0};
            (void)reader_line(&r, &line);
            if (!alone || !ok)
                printf("%llu%s", row[0] ? strtoull(row[0], NULL, 10) : 0,
                       ok ? ": " : ": ERROR: ");
            client_show(line, CLIENT_LINES);
            putchar('\n');
        }
    }
    mysql_data_seek(rows, 0);
    /* ids are numbers in all other answers */
    mysql_fetch_fields(rows)->type = MYSQL_TYPE_LONGLONG;
    if (form != CLIENT_TEXT)
        client_show_rows(rows, form);
    return all;
}

static bool
are_nodes(const char *what)
{
    return (strspn(what, "0123456789 ,") == strlen(what) &&
            !strstr(what, ",,") && *what && strspn(what, " ,") == 0 &&
            what[strlen(what) - 1] != ',') ||
           strncmp(what, "ALL", 3) == 0;
}

static enum client_status
fail_without_answer(void)
{
    warnx("the node did not answer that");
    return CLIENT_FAILED;
}

/* Asks the node for its own id, since ADMIN EXECUTE ON wants one. */
static enum client_status
find_own_id(const char *const *given, char out[ID_BYTES])
{
    static const char statement[] = "SELECT id FROM heapwire.nodes WHERE self";
    enum client_status status = CLIENT_FAILED;
    MYSQL_RES *rows = client_ask(
        given, (struct span){statement, sizeof(statement) - 1}, false, &status);
    MYSQL_ROW row = rows ? mysql_fetch_row(rows) : NULL;

    if (row && row[0])
        snprintf(out, ID_BYTES, "%s", row[0]);
    else if (status == CLIENT_OK)
        status = fail_without_answer();
    mysql_free_result(rows);
    return status;
}

/* alone: see client_show_nodes(). */
static enum client_status
run_script_on_nodes(const char *const *given, const char *nodes,
                    const char *script, bool alone)
{
    enum client_status status = CLIENT_OK;
    MYSQL_RES *rows = NULL;
    struct buffer text;

    if (!are_nodes(nodes))
        return command_usage(not_nodes, nodes);
    buffer_init(&text, STATEMENT_MAX);
    /* One node alone is answered without the row that names it, so its id is
     * written twice to have that row. */
    buffer_format(&text, "ADMIN EXECUTE ON %s%s%s ", nodes,
                  strpbrk(nodes, ",A") ? "" : ", ",
                  strpbrk(nodes, ",A") ? "" : nodes);
    sql_string(script, &text);
    if (text.failed)
        status = command_usage(too_long, "");
    else
        rows = client_ask(given, (struct span){text.data, text.size}, false,
                          &status);
    if (status == CLIENT_OK && (!rows || mysql_num_fields(rows) != 3))
        status = fail_without_answer();
    else if (rows && !client_show_nodes(rows, choose_form(given), alone) &&
             status == CLIENT_OK)
        status = CLIENT_FAILED;
    mysql_free_result(rows);
    buffer_fini(&text);
    return status;
}

/* Builds the statement for JSON and TSV, which want the table of findings and
 * not the text that the script prints. */
static enum client_status
make_diagnosis(const char *nodes, struct buffer *out)
{
    buffer_text(out, "SELECT * FROM heapwire.");
    if (!nodes)
        buffer_text(out, "diagnosis");
    else if (!are_nodes(nodes))
        return command_usage(not_nodes, nodes);
    else if (*nodes == 'A')
        buffer_text(out, "cluster_diagnosis");
    else
        buffer_format(out, "cluster_diagnosis WHERE node_id IN (%s)", nodes);
    return CLIENT_OK;
}

enum client_status
command_sql(const char *const *given, const char *statement)
{
    enum client_form form = choose_form(given);
    enum client_status status = CLIENT_OK;
    MYSQL_RES *rows;

    if (strlen(statement) > STATEMENT_MAX)
        return command_usage(too_long, "");
    rows = client_ask(given, (struct span){statement, strlen(statement)}, true,
                      &status);
    if (rows || (status == CLIENT_OK && form == CLIENT_JSON))
        client_show_rows(rows, form);
    mysql_free_result(rows);
    return status;
}

enum client_status
command_on(const char *const *given, const char *nodes, const char *script)
{
    return run_script_on_nodes(given, nodes, script, false);
}

enum client_status
command_diagnose(const char *const *given, const char *nodes)
{
    enum client_status status;
    struct buffer text;
    char own[ID_BYTES];

    if (choose_form(given) == CLIENT_TEXT) {
        status = nodes ? CLIENT_OK : find_own_id(given, own);
        return status == CLIENT_OK
                   ? run_script_on_nodes(given, nodes ? nodes : own,
                                         diagnosis_script, !nodes)
                   : status;
    }
    buffer_init(&text, STATEMENT_MAX);
    status = make_diagnosis(nodes, &text);
    if (status == CLIENT_OK)
        status = command_sql(given, text.failed ? "" : text.data);
    buffer_fini(&text);
    return status;
}
