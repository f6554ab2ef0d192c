/*
 * prepared_text.h - the texts that a session has prepared, by name.
 *
 * For PREPARE, EXECUTE and DEALLOCATE PREPARE as SQL text.  The server keeps
 * what COM_STMT_PREPARE prepares.
 */
#ifndef HW_PREPARED_TEXT_H
#define HW_PREPARED_TEXT_H

#include "sql.h"

enum {
    PREPARED_TEXTS_MAX = 32, /* of one session */
    PREPARED_TEXT_BYTES_MAX = 64 * 1024,
    PREPARED_TEXTS_BYTES_MAX = 16 * 1024 * 1024 /* in all sessions together */
};

struct prepared_text {
    struct prepared_text *next;
    char name[SQL_NAME_MAX + 1];
    size_t size;
    char text[];
};

/* Keeps the text, and replaces an earlier one of that name.  -1 with 1461 past
 * a ceiling. */
int prepared_text_keep(struct sql_session *session, struct span name,
                       struct span text, struct error *err);
/* NULL: the name is unknown. */
const struct prepared_text *prepared_text_find(struct sql_session *session,
                                               struct span name);
/* False: the name is unknown. */
bool prepared_text_drop(struct sql_session *session, struct span name);
/* -1 with 1243. */
int prepared_text_unknown(struct span name, const char *given_to,
                          struct error *err);
void prepared_texts_free(struct prepared_text *list);

#endif
