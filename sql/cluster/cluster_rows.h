/*
 * cluster_rows.h - the rows that all nodes have of one table.
 *
 * Nodes answer with texts.  Here they become values of the columns' types, and
 * NULL where a text does not fit its type.
 */
#ifndef HW_CLUSTER_ROWS_H
#define HW_CLUSTER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog_table;
struct cluster_rows;
struct handle;
struct value;

enum {
    CLUSTER_NODE_ROWS_MAX = 100000,   /* of one node, */
    CLUSTER_NODE_BYTES_MAX = 8 << 20, /* and bytes; */
    CLUSTER_BYTES_MAX = 64 << 20,     /* of all, */
    CLUSTER_CELLS_MAX = 4 << 20       /* and values */
};

/* Asks, unless it was asked: SQLite's codes as select_need.  table->of is
 * not NULL; ids as cluster_begin has them; snapshot NULL: whatever the node
 * gives, or all that it keeps; of these the fresh one where the statement names
 * it. */
int cluster_rows_need(struct handle *handle, const struct catalog_table *table,
                      const uint64_t *ids, size_t id_count,
                      const char *snapshot, bool kept,
                      const struct cluster_rows **out);

/* A row's place. */
struct cluster_place {
    const struct cluster_rows *rows;
    size_t node, row;
};

void cluster_place_first(struct cluster_place *place,
                         const struct cluster_rows *rows);
void cluster_place_next(struct cluster_place *place);
bool cluster_place_done(const struct cluster_place *place);
/* *out is NULL as it comes; texts last as long as the rows. */
void cluster_place_cell(const struct cluster_place *place, size_t column,
                        struct value *out);

#endif
