/*
 * client.h - how heapwire asks nodes.
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
    CLIENT_USAGE = 64,
    CLIENT_NO_INPUT = 66 /* a file that cannot be read */
};

/* given: by an option's letter, its value; NULL: ~/.my.cnf may have it.  The
 * statement's rows, wholly; NULL: it has none, or *status says more.  With
 * may_lack, CLIENT_FAILED and rows: some node's are not among them. */
MYSQL_RES *client_ask(const char *const *given, struct span statement,
                      bool may_lack, enum client_status *status);

#endif
