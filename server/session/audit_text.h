/*
 * audit_text.h - the text of an ADMIN EXECUTE as its record shows it.
 *
 * Pure: one line of clean UTF-8. Comments and blanks of the statement and its
 * script are left out, exactly as the lexers that run them do, and values
 * replace their ? and @name, so that no padding can push the script out of
 * sight.  A long text keeps its beginning and its end, and says how many bytes
 * were between them.
 */
#ifndef HW_AUDIT_TEXT_H
#define HW_AUDIT_TEXT_H

#include "reader.h"
#include "sql.h"

struct sql_parameters;

enum { AUDIT_TEXT_MAX = SQL_AUDIT_TEXT_MAX };

/* At most AUDIT_TEXT_MAX bytes; parameters NULL: a ? stays; session NULL: a
 * @name stays. */
void audit_text_make(struct span text, const struct sql_parameters *parameters,
                     const struct sql_session *session,
                     char out[AUDIT_TEXT_MAX + 1]);

#endif
