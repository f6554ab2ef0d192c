/*
 * client.h - the parts of heapwire, which asks nodes from a command line.
 *
 * Faults are printed where they are found.
 */
#ifndef HW_CLIENT_H
#define HW_CLIENT_H

#include <mysql.h>
#include <stdbool.h>

#include "reader.h"

enum client_status {
    CLIENT_OK,
    CLIENT_FAILED,  /* a node, the statement, or its output */
    CLIENT_NO_NODE, /* no connection, or it was lost */
    CLIENT_USAGE = 64
};

enum client_form { CLIENT_TEXT, CLIENT_TSV, CLIENT_JSON };

/* given: by an option's letter, its value; NULL: ~/.my.cnf may have it.  The
 * statement's rows, wholly; NULL: it has none, or *status says more.  With
 * may_lack, CLIENT_FAILED and rows: some node's are not among them. */
MYSQL_RES *client_ask(const char *const *given, struct span statement,
                      bool may_lack, enum client_status *status);

/* On standard output.  No control character of a node's reaches a terminal. */
/* LINES: line ends and tabs stay.  The width, roughly. */
enum client_quoting { LINES, CELL, JSON };
size_t client_show(struct span text, enum client_quoting how);
/* rows NULL: as JSON none. */
void client_show_rows(MYSQL_RES *rows, enum client_form form);
/* Of node_id, status, result: in text each line begins with its node.  False:
 * a node failed. */
bool client_show_nodes(MYSQL_RES *rows, enum client_form form);

#endif
