/*
 * state_dir_default.h - chooses the node's directory if none is configured,
 * and says whether a database that changed its user finds it.
 *
 * In /tmp any user may take a predictable name first.  Then another directory
 * is used: its name cannot be guessed, and the next start finds it again.
 */
#ifndef HW_STATE_DIR_DEFAULT_H
#define HW_STATE_DIR_DEFAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* Creates nothing.  instead->text says why the place is unusual, and where it
 * is; "": it is the usual place. */
void state_dir_default(uint32_t node_id, char *out, size_t size,
                       struct error *instead);

/* Whether an agent in a database that runs as uid cannot use a state directory
 * of owner's: out then says why, and the cure. */
bool state_dir_excludes(const char *path, uid_t owner, uid_t uid, char *out,
                        size_t size);

#endif
