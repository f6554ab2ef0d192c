/*
 * sql_prepared.h - PREPARE, EXECUTE and DEALLOCATE PREPARE as SQL text.
 *
 * A session keeps texts by name.  EXECUTE is never run itself: sql_indirect()
 * says which text, with which values, it stands for.
 */
#ifndef HW_SQL_PREPARED_H
#define HW_SQL_PREPARED_H

#include "sql.h"

struct opening;

enum {
    SQL_PREPARED_MAX = 32,                    /* of one session */
    SQL_PREPARED_TEXT_MAX = 64 * 1024,        /* bytes */
    SQL_PREPARED_TOTAL_MAX = 16 * 1024 * 1024 /* of all sessions' together */
};

struct sql_prepared {
    struct sql_prepared *next;
    char name[SQL_NAME_MAX + 1];
    size_t size;
    char text[];
};

struct cursor *prepare_open(struct opening *opening, struct error *err);
struct cursor *deallocate_open(struct opening *opening, struct error *err);

void sql_prepared_free(struct sql_prepared *list);

#endif
