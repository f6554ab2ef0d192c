/*
 * audit_text.h - what the record of an ADMIN EXECUTE shows of it.
 *
 * Pure: one line of clean UTF-8.  Comments and blanks, of the statement and of
 * its script, are left out as the lexers that run them leave them out, and
 * values stand in place of their ? and @name, so that nothing can push the
 * script out of sight.  What is long keeps its beginning and its end, and says
 * how many bytes were between them.
 */
#ifndef HW_AUDIT_TEXT_H
#define HW_AUDIT_TEXT_H

#include "reader.h"
#include "sql.h"

struct sql_parameters;

enum { AUDIT_TEXT_MAX = SQL_AUDIT_TEXT_MAX };

/* At most AUDIT_TEXT_MAX bytes; parameters NULL: a ? stays one; session NULL: a
 * @name does. */
void audit_text_make(struct span text, const struct sql_parameters *parameters,
                     const struct sql_session *session,
                     char out[AUDIT_TEXT_MAX + 1]);

#endif
