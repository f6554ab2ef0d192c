/*
 * asker.h - asks a node without waiting: for who has keys to read meanwhile.
 *
 * One statement at a time.  The caller polls asker_fd() for asker_events(), for
 * asker_wait_ms() at most, and calls asker_step() then.  A connection that is
 * lost is made anew by the next statement.  One thread; nothing is printed.
 * Only a host's name is looked up with waiting.
 */
#ifndef HW_ASKER_H
#define HW_ASKER_H

#include <mysql.h>
#include <stdbool.h>

enum {
    ASKER_TEXT = 512,     /* of an error or of the warnings */
    ASKER_DEADLINE_S = 20 /* a node that is silent for so long is given up */
};

struct asker;

/* given: see client_ask(), which outlives the asker.  Asks for a password. */
struct asker *asker_new(const char *const *given); /* NULL: no memory */
void asker_free(struct asker *asker);              /* NULL is fine */

/* Begins a statement (copied), where none runs. */
void asker_ask(struct asker *asker, const char *statement);

bool asker_asks(const struct asker *asker);   /* one is under way */
bool asker_is_new(const struct asker *asker); /* the next one has to connect */
int asker_fd(struct asker *asker);            /* -1: none */
short asker_events(const struct asker *asker);
int asker_wait_ms(const struct asker *asker);

/* Goes on; revents 0: time has passed.  True: the statement is done. */
bool asker_step(struct asker *asker, short revents);

/* Of the statement that is done: its rows, which the caller frees, or NULL. */
MYSQL_RES *asker_take_rows(struct asker *asker);
/* Its error, else "": clean, for a terminal.  *number: MySQL's. */
const char *asker_error(const struct asker *asker, unsigned *number);
/* Its warnings, which say which nodes' rows are missing, else "": clean, of one
 * line. */
const char *asker_warnings(const struct asker *asker);

#endif
