/* daemon_root.h - a database that became a daemon with another root directory.
 */
#ifndef HW_DAEMON_ROOT_H
#define HW_DAEMON_ROOT_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether pid has another root directory than ours, and no agent serves: then
 * that is said on stderr, and left for heapwired as the agent's word. */
bool daemon_root_note(const char *state_dir, const char *program, pid_t pid);

#endif
