/* sql_prepared.h - what EXECUTE and DEALLOCATE PREPARE share. */
#ifndef HW_SQL_PREPARED_H
#define HW_SQL_PREPARED_H

#include "reader.h"

struct error;

/* -1 with 1243. */
int sql_unknown_prepared(struct span name, const char *given_to,
                         struct error *err);

#endif
