/* script_methods.h - the natives behind the table in script_methods.c. */
#ifndef HW_SCRIPT_METHODS_H
#define HW_SCRIPT_METHODS_H

#include "script.h"

enum step heapprof_instance(struct script_call *call, struct error *err);
enum step heapprof_enable(struct script_call *call, struct error *err);
enum step heapprof_disable(struct script_call *call, struct error *err);
enum step heapprof_has_enable(struct script_call *call, struct error *err);
enum step heapprof_snapshot(struct script_call *call, struct error *err);
enum step heapprof_to_dot(struct script_call *call, struct error *err);
enum step heapprof_dump_dot(struct script_call *call, struct error *err);

#endif
