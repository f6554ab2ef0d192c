/* function_lists.h - the lists of MySQL's functions for SELECT, one per
 * file. */
#ifndef HW_FUNCTION_LISTS_H
#define HW_FUNCTION_LISTS_H

#include "function.h"

/* Each list ends with an entry whose name is NULL. */
extern const struct function session_functions[];
extern const struct function lock_functions[];
extern const struct function compare_functions[];
extern const struct function number_functions[];
extern const struct function text_functions[];
extern const struct function search_functions[];
extern const struct function hash_functions[];
extern const struct function time_functions[];
extern const struct function date_functions[];
extern const struct function interval_functions[];
extern const struct function format_functions[];
extern const struct function cast_functions[];
extern const struct function measure_functions[];
extern const struct function aggregate_functions[];
extern const struct function slot_functions[];
extern const struct function arithmetic_functions[];

#endif
