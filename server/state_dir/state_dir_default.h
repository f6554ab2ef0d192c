/*
 * state_dir_default.h - the node's directory where nobody has named one.
 *
 * In /tmp everybody may take a name that is known beforehand.  That is no fault
 * of who starts a node: another directory is used then, whose name cannot be
 * guessed, and which the next start finds again.
 */
#ifndef HW_STATE_DIR_DEFAULT_H
#define HW_STATE_DIR_DEFAULT_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* Creates nothing.  instead->text says why, and where it is, when it is not the
 * usual place; else it is "". */
void state_dir_default(uint32_t node_id, char *out, size_t size,
                       struct error *instead);

#endif
