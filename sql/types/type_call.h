/* type_call.h - the types of calls and of moved dates. */
#ifndef HW_TYPE_CALL_H
#define HW_TYPE_CALL_H

#include "type_rules.h"

enum { QUOTIENT_DECIMALS = 4 }; /* decimals that "/" and AVG add */

/* Of a NODE_CALL. */
struct result_type type_call(const struct node *node,
                             const struct operands *given);
/* Of from + INTERVAL amount unit: whole days keep a date, shorter units add a
 * time. */
struct result_type type_moved(struct result_type from,
                              struct result_type amount, struct span unit);

#endif
