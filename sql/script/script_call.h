/* script_call.h - reads a method's arguments, and sets its result. */
#ifndef HW_SCRIPT_CALL_H
#define HW_SCRIPT_CALL_H

#include "script.h"
#include "snapshot.h"

int script_check_name(struct span name, struct error *err);
/* Copies argument i, the name of a snapshot, to out; -1: invalid name. */
int script_snapshot_name(struct script_call *call, size_t i,
                         char out[SNAPSHOT_NAME_MAX + 1], struct error *err);
/* Reads argument i, a whole number from least to most; -1: it is none. */
int script_count(struct script_call *call, size_t i, double least, double most,
                 uint32_t *out, struct error *err);
/* Blames argument i for *err; returns STEP_FAIL. */
enum step script_blame(struct script_call *call, size_t i);
/* Sets the result to a String, which can be printed or joined. */
void script_return_text(struct script_call *call, const char *data,
                        size_t size);
void script_return_instance(struct script_call *call, const void *state);

#endif
