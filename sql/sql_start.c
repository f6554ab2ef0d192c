/*
 * sql_start.c - registers all tables with the catalog, which lies below them.
 */
#include "sql.h"

#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "catalog_tables.h"

#define LIST_ENTRY(list) list,
static const struct catalog_table *const lists[] = {CATALOG_LISTS(LIST_ENTRY)};

static const struct catalog_table *tables[CATALOG_TABLES_MAX];

/* By name within each database, as SHOW TABLES lists them. */
static int
compare_tables_by_name(const void *left, const void *right)
{
    const struct catalog_table *a = *(const struct catalog_table *const *)left;
    const struct catalog_table *b = *(const struct catalog_table *const *)right;
    int order = strcmp(a->database, b->database);

    return order ? order : strcmp(a->name, b->name);
}

void
sql_start(void)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const struct catalog_table *t = lists[i]; t->database; t++)
            if (count < CATALOG_TABLES_MAX)
                tables[count++] = t;
            else
                abort(); /* CATALOG_TABLES_MAX must be raised */
    qsort(tables, count, sizeof(tables[0]), compare_tables_by_name);
    catalog_start(tables, count);
}
