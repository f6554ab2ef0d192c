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

/* Sets the options of mysql; given is client_ask()'s. */
void connection_prepare(MYSQL *mysql, const char *const *given,
                        struct connection_target *target);

enum { CONNECTION_TEXT = 1024 };

/* The library's error, and what to do about it: one line. */
void connection_explain(unsigned number, const char *text, bool dialled,
                        const char *const *given, char out[CONNECTION_TEXT]);

#endif
