/* tables_empty.c - makes the tables of tables_empty.def. */
#include "catalog_tables.h"

#define C(name, type)                                                          \
    {                                                                          \
        name, &type_##type                                                     \
    }
#define TABLE(database, name, ...)                                             \
    {database, name,                                                           \
     CATALOG_COLUMNS(((const struct catalog_column[]){__VA_ARGS__})),          \
     catalog_nothing},

const struct catalog_table tables_empty[] = {
#include "tables_empty.def"
    {NULL},
};
