/*
 * type_values.h - the types of a SELECT's parameters and variables, also of
 * those that are assigned to its left.
 */
#ifndef HW_TYPE_VALUES_H
#define HW_TYPE_VALUES_H

#include "types.h"

/* The type that @x := y gave last. */
struct assigned {
    struct assigned *next;
    struct span name;
    struct result_type type;
};

struct type_values {
    const struct typing *job;
    struct assigned *assigned;
    size_t assigned_count;
    bool no_memory; /* sticks */
};

/* In the arena; without room, notes that. */
void *type_alloc(struct type_values *v, size_t size);

struct result_type type_of_parameter(const struct type_values *v, size_t i);
struct result_type type_of_system_variable(const struct type_values *v,
                                           const struct node *node);
/* That of the session's value, or of what was assigned. */
struct result_type type_of_user_variable(const struct type_values *v,
                                         struct span name);
void type_assign(struct type_values *v, struct span name,
                 struct result_type type);

#endif
