/*
 * audit.h - records each ADMIN EXECUTE: user, text and outcome, to the log and
 * to heapwire.audit_log.
 *
 * A process has one audit log; any thread may list it.
 */
#ifndef HW_AUDIT_H
#define HW_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "sql.h"

struct error;
struct sql_identity;
struct sql_parameters;
struct sql_session;

struct audit {
    char *text; /* see audit_text.h; NULL: the statement is not audited */
};

struct audit_outcome {
    const struct error *error; /* NULL: it succeeded */
    uint64_t rows, bytes, elapsed_ms;
    bool web; /* it came over HTTP */
};

/* Keeps the text to show if the parser would read this as an ADMIN EXECUTE.
 * parameters NULL: it has none; session: holds its @names, or NULL. */
void audit_begin(struct audit *audit, struct span text,
                 const struct sql_parameters *parameters,
                 const struct sql_session *session);
/* Once; does nothing for statements that are not audited. */
void audit_finish(struct audit *audit, const struct sql_identity *who,
                  uint32_t connection_id, const struct audit_outcome *outcome);
void audit_fini(struct audit *audit);

/* The last SQL_AUDIT_ROWS_MAX records, newest first, at most max. */
size_t audit_list(struct sql_audit_row *out, size_t max);
void audit_clear(void); /* all of them */

#endif
