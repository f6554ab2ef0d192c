/*
 * asker.h - asks a node without waiting, for callers that read keys meanwhile.
 *
 * One statement runs at a time.  The caller polls asker_fd() for
 * asker_events(), at most for asker_wait_ms(), and then calls asker_step().  A
 * connection that is lost is made again by the next statement.  Everything runs
 * in one thread, and nothing is printed.  Only looking up a host's name waits.
 */
#ifndef HW_ASKER_H
#define HW_ASKER_H

#include <mysql.h>
#include <stdbool.h>

enum {
    ASKER_TEXT = 512,     /* bytes for an error or for the warnings */
    ASKER_DEADLINE_S = 20 /* seconds after which a silent node is given up */
};

struct asker;

/* given is client_ask()'s and must outlive the asker.  Asks for a password if
 * one is wanted. */
struct asker *asker_new(const char *const *given); /* NULL: no memory */
void asker_free(struct asker *asker);              /* NULL is fine */

/* Begins a statement, which is copied.  None may be running. */
void asker_ask(struct asker *asker, const char *statement);

bool asker_asks(const struct asker *asker); /* a statement is running */
/* the next statement has to connect */
bool asker_is_new(const struct asker *asker);
int asker_fd(struct asker *asker); /* -1 means none */
short asker_events(const struct asker *asker);
int asker_wait_ms(const struct asker *asker);

/* Goes on with the statement; revents 0 means that time has passed.  Answers
 * true once the statement is done. */
bool asker_step(struct asker *asker, short revents);

/* The rows of the statement that is done, which the caller frees, or NULL. */
MYSQL_RES *asker_take_rows(struct asker *asker);
/* The statement's error, or "": safe to print on a terminal.  *number is
 * MySQL's number of it. */
const char *asker_error(const struct asker *asker, unsigned *number);
/* The statement's warnings, which say which nodes' rows are missing, or "": one
 * line, safe to print on a terminal. */
const char *asker_warnings(const struct asker *asker);

#endif
