/* connection.h - what a connection of heapwire's to a node is made with. */
#ifndef HW_CONNECTION_H
#define HW_CONNECTION_H

#include <mysql.h>
#include <stdbool.h>

/* For mysql_real_connect; borrowed from given, and a password from here. */
struct connection_target {
    const char *host, *user, *password, *socket;
    unsigned port;
};

/* Asks for it on the terminal, once, where given says so; else NULL. */
const char *connection_password(const char *const *given);

/* Sets the options of mysql; given is client_ask()'s.  A descriptor of options,
 * which connecting reads: the caller closes it then. */
int connection_prepare(MYSQL *mysql, const char *const *given,
                       struct connection_target *target);

/* What to do about the library's error, or "". */
const char *connection_advice(unsigned number, bool dialled,
                              const char *const *given);

#endif
