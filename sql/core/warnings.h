/*
 * warnings.h - what statements leave for SHOW WARNINGS.
 *
 * The session's, of the last statement that was not a question about them: SHOW
 * WARNINGS, and a SELECT without tables, as in MySQL.  The thread that
 * runs the session's statement touches them.
 */
#ifndef HW_WARNINGS_H
#define HW_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sql_session;

enum {
    WARNINGS_MAX = 64 /* kept; all are counted */
};

struct warning {
    struct warning *next;
    uint16_t code;
    char text[];
};

struct warnings {
    struct warning *first, **last;
    size_t kept;
    uint64_t total;
    bool old; /* of a statement before the one that runs */
};

/* Without memory it is counted and not kept. */
void warnings_add(struct sql_session *session, uint16_t code,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A statement begins: its first warning drops the older ones. */
void warnings_begin(struct sql_session *session);
/* The statement does not read the older ones: drops them. */
void warnings_drop_old(struct sql_session *session);
void warnings_clear(struct sql_session *session);

#endif
