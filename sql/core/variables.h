/*
 * variables.h - the system variables: one table for SELECT @@x, SET and SHOW.
 *
 * The table has the values that all sessions share; SET gives a session its own
 * values.
 */
#ifndef HW_VARIABLES_H
#define HW_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "cursor.h"
#include "lexer.h"

struct error;
struct sql_session;

enum variable_type { VARIABLE_TEXT, VARIABLE_INT, VARIABLE_BOOL };

enum variable_access {
    ACCESS_SESSION, /* SET changes the session's own value */
    ACCESS_NULL,    /* as ACCESS_SESSION, and accepts NULL */
    ACCESS_READ     /* SET fails with 1238 */
};

enum { VARIABLE_BYTES = 256 }; /* bytes of a computed value */

struct variable {
    const char *name;
    enum variable_type type;
    enum variable_access access;
    const char *value; /* NULL: computed */
    void (*compute)(const struct sql_session *session, char *out, size_t size);
    const char *same_as; /* the variable that this is another name of */
    int64_t least, most; /* the range of an INT. most 0: there is no upper
                          * limit, and a smaller one than least becomes
                          * least, with warning 1292 */
};

extern const struct variable variables[];
extern const size_t variable_count;

/* Refuses value: -1 with 1231, and the accepted range. */
int variable_refuse(const char *name, struct span value, uint64_t least,
                    uint64_t most, struct error *err);

/* Finds a variable by any of its names; NULL with 1193. */
const struct variable *variable_find(struct span name, struct error *err);

/* Reads a variable; a BOOL is 0 or 1 as INT. out borrows from the session, the
 * table or the buffer computed. */
void variable_get(const struct sql_session *session,
                  const struct variable *variable, enum variable_scope scope,
                  char computed[VARIABLE_BYTES], struct value *out);

/* Checks and converts given to the value that SET stores; given NULL: the
 * default.  -1 with 1231, 1232 or 1238. */
int variable_accept(const struct variable *variable, const struct value *given,
                    struct value *out, struct error *err);

/* The storage engine that the session's tables are said to have: its
 * default_storage_engine. */
const char *variable_engine(const struct sql_session *session);

/* Whether the session's sql_mode contains word. */
bool variable_sql_mode(const struct sql_session *session, const char *word);

#endif
