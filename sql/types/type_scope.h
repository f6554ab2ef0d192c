/*
 * type_scope.h - what the names in a SELECT mean: columns of its tables, of
 * WITH's queries and of the queries around it; variables assigned to its left.
 */
#ifndef HW_TYPE_SCOPE_H
#define HW_TYPE_SCOPE_H

#include "types.h"

struct shape_column {
    struct span name;
    struct result_type type;
};

/* The columns of a query. */
struct shape {
    struct shape_column *columns;
    size_t count, capacity;
};

/* A table in FROM: one of the catalog's, or the rows of a query. */
struct source {
    struct source *next;
    struct span name;
    const struct catalog_table *table; /* NULL: a query's rows */
    struct shape shape;
};

struct sources { /* of one SELECT */
    struct sources *outer;
    struct source *first, **last;
    const struct shape *labels; /* its list, once that is read */
};

struct known_cte {
    struct known_cte *next;
    const struct tree_cte *cte;
    struct shape shape;
};

/* The type that @x := y gave last. */
struct assigned {
    struct assigned *next;
    struct span name;
    struct result_type type;
};

struct type_scope {
    const struct typing *job;
    struct sources *sources; /* the innermost ones */
    struct known_cte *ctes;
    struct assigned *assigned;
    size_t assigned_count;
    bool no_memory; /* sticks */
};

/* In the arena; without room, notes that. */
void *scope_alloc(struct type_scope *s, size_t size);

void shape_add(struct type_scope *s, struct shape *shape, struct span name,
               struct result_type type);
void shape_rename(struct shape *shape, const struct tree_name *names);
/* Each column also holds the other's, as in a UNION. */
void shape_widen(struct shape *shape, const struct shape *other);

/* Adds a table to the innermost sources. */
void scope_add_table(struct type_scope *s, const struct tree_table *table,
                     const struct shape *shape);
struct known_cte *scope_add_cte(struct type_scope *s,
                                const struct tree_cte *cte);
/* Adds the columns that * or table.* means. */
void scope_star(struct type_scope *s, const struct tree_qualifier *of,
                struct shape *out);

struct result_type scope_column(const struct type_scope *s,
                                const struct node *node);
struct result_type scope_parameter(const struct type_scope *s, size_t i);
struct result_type scope_system_variable(const struct type_scope *s,
                                         const struct node *node);
/* That of the session's value, or of what was assigned. */
struct result_type scope_user_variable(const struct type_scope *s,
                                       struct span name);
void scope_assign(struct type_scope *s, struct span name,
                  struct result_type type);

#endif
