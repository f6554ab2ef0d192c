/*
 * client.h - how heapwire asks nodes.
 *
 * Errors are printed where they are found.
 */
#ifndef HW_CLIENT_H
#define HW_CLIENT_H

#include <mysql.h>
#include <stdbool.h>

#include "reader.h"

struct buffer;

enum client_status {
    CLIENT_OK,
    /* a node failed, or the statement, or writing its output */
    CLIENT_FAILED,
    CLIENT_NO_NODE, /* no connection could be made, or it was lost */
    CLIENT_USAGE = 64,
    CLIENT_NO_INPUT = 66 /* a file cannot be read */
};

/* Asks a node a statement and answers all its rows.  given has an option's
 * value by its letter; what is NULL may be in ~/.my.cnf.  NULL means that there
 * are no rows, or that it failed, as *status tells.  With may_lack, rows
 * together with CLIENT_FAILED mean that those of some nodes are missing. */
MYSQL_RES *client_ask(const char *const *given, struct span statement,
                      bool may_lack, enum client_status *status);

/* Writes a text as a string of SQL, with its quotes. */
void sql_string(const char *text, struct buffer *out);

#endif
