/*
 * cluster_rows.h - the rows of one table on all nodes.
 *
 * Nodes answer with texts, which become values of the columns' types here; a
 * text that does not fit its type becomes NULL.
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
    CLUSTER_NODE_ROWS_MAX = 100000,   /* rows of one node */
    CLUSTER_NODE_BYTES_MAX = 8 << 20, /* bytes of one node */
    CLUSTER_BYTES_MAX = 64 << 20,     /* bytes of all nodes */
    CLUSTER_CELLS_MAX = 4 << 20       /* values of all nodes */
};

/* Asks once per statement; returns SQLite's codes, as fetch_needs does.
 * table->of is not NULL; ids are as for cluster_begin. snapshot NULL: each node
 * sends the rows it has by itself, or those of all kept snapshots, and of the
 * fresh one where the statement names it. */
int cluster_rows_need(struct handle *handle, const struct catalog_table *table,
                      const uint64_t *ids, size_t id_count,
                      const char *snapshot, bool kept,
                      const struct cluster_rows **out);

/* One row of the answers. */
struct cluster_place {
    const struct cluster_rows *rows;
    size_t node, row;
};

void cluster_place_first(struct cluster_place *place,
                         const struct cluster_rows *rows);
void cluster_place_next(struct cluster_place *place);
bool cluster_place_done(const struct cluster_place *place);
/* The caller sets *out to NULL; texts last as long as the rows. */
void cluster_place_cell(const struct cluster_place *place, size_t column,
                        struct value *out);

#endif
