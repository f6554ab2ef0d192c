/* type_rules.h - what type a node has, by its operands' types. */
#ifndef HW_TYPE_RULES_H
#define HW_TYPE_RULES_H

#include "result_type.h"
#include "select_tree.h"

/* The types of a node's operands. */
struct operands {
    size_t count;
    struct result_type first, last;
    struct result_type all, behind_first; /* what holds each of them */
};

struct operands operands_none(void);
void operands_add(struct operands *o, struct result_type type);

/* Of a literal, an operator or a call; a BIGINT where it is a truth. */
struct result_type type_of_node(const struct node *node,
                                const struct operands *given);

#endif
