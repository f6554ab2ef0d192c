/*
 * warnings.h - what statements leave for SHOW WARNINGS.
 *
 * A session keeps the warnings of its last statement; SHOW WARNINGS, and a
 * SELECT without tables, do not replace them, as in MySQL.  Only the thread
 * that runs the session's statement uses them.
 */
#ifndef HW_WARNINGS_H
#define HW_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sql_session;

enum {
    WARNINGS_MAX = 64 /* kept; the count includes all */
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
    bool old; /* from a statement before the present one */
};

/* Adds a warning; without memory it is only counted. */
void warnings_add(struct sql_session *session, uint16_t code,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Call it when a statement begins: its first warning drops the older ones. */
void warnings_begin(struct sql_session *session);
/* Drops the older ones, for a statement that does not read them. */
void warnings_drop_old(struct sql_session *session);
void warnings_clear(struct sql_session *session);

#endif
