/* connection.h - what connections of heapwire to a node have in common. */
#ifndef HW_CONNECTION_H
#define HW_CONNECTION_H

#include <mysql.h>
#include <stdbool.h>

/* Arguments for mysql_real_connect().  Their strings belong to given, and the
 * password to connection.c. */
struct connection_target {
    const char *host, *user, *password, *socket;
    unsigned port;
};

/* Asks for the password on the terminal, once, if given has 'p'; else NULL. */
const char *connection_password(const char *const *given);

/* Sets the options of mysql and fills target.  given is client_ask()'s. */
void connection_prepare(MYSQL *mysql, const char *const *given,
                        struct connection_target *target);

enum { CONNECTION_TEXT = 1024 };

/* Writes the library's error in one line, with what to do about it.  dialled
 * says that the connection had been made. */
void connection_explain(unsigned number, const char *text, bool dialled,
                        const char *const *given, char out[CONNECTION_TEXT]);

#endif
