/* state_dir_user.h - whether a database that changed its user finds the state
 * directory. */
#ifndef HW_STATE_DIR_USER_H
#define HW_STATE_DIR_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether an agent in a database that runs as uid cannot use a state directory
 * of owner's: out then says why, and the cure. */
bool state_dir_excludes(const char *path, uid_t owner, uid_t uid, char *out,
                        size_t size);

#endif
