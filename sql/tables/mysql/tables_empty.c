/* tables_empty.c - makes the tables of tables_empty.def. */
#include "catalog_tables.h"
#include "schema_types.h"

#define C(name, type)                                                          \
    {                                                                          \
        name, &type_##type                                                     \
    }
#define TABLE(database, name, ...)                                             \
    &(const struct catalog_table){                                             \
        database,                                                              \
        name,                                                                  \
        "",                                                                    \
        CATALOG_COLUMNS(((const struct catalog_column[]){__VA_ARGS__})),       \
        0,                                                                     \
        catalog_nothing},

const struct catalog_table *const empty_tables[] = {
#include "tables_empty.def"
};

const size_t empty_table_count = sizeof(empty_tables) / sizeof(empty_tables[0]);
