/* script_call.h - reads a method's arguments, and sets its result. */
#ifndef HW_SCRIPT_CALL_H
#define HW_SCRIPT_CALL_H

#include "script.h"
#include "snapshot.h"

int script_check_name(struct span name, struct error *err);
/* Copies argument i, a snapshot's name, to out; -1: it cannot be one. */
int script_snapshot_name(struct script_call *call, size_t i,
                         char out[SNAPSHOT_NAME_MAX + 1], struct error *err);
/* Argument i, a whole number; -1: it is not one, or out of bounds. */
int script_count(struct script_call *call, size_t i, double least, double most,
                 uint32_t *out, struct error *err);
/* STEP_FAIL, and marks argument i as the cause of the error. */
enum step script_blame(struct script_call *call, size_t i);
/* What is printed or joined: a String. */
void script_return_text(struct script_call *call, const char *data,
                        size_t size);
void script_return_instance(struct script_call *call, const void *state);

#endif
