/*
 * state_dir_default.h - chooses the node's directory if none is configured.
 *
 * In /tmp any user may take a predictable name first.  Then another directory
 * is used: its name cannot be guessed, and the next start finds it again.
 */
#ifndef HW_STATE_DIR_DEFAULT_H
#define HW_STATE_DIR_DEFAULT_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* Creates nothing.  instead->text says why the place is unusual, and where it
 * is; "": it is the usual place. */
void state_dir_default(uint32_t node_id, char *out, size_t size,
                       struct error *instead);

#endif
