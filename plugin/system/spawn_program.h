/* spawn_program.h - a foreign program in a process group of its own. */
#ifndef HW_SPAWN_PROGRAM_H
#define HW_SPAWN_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn_program {
    const char *program; /* a path */
    char *const *argv, *const *environment;
    int fds[3];   /* descriptors for its 0, 1 and 2; -1: /dev/null, for
                   * writing */
    bool session; /* a session of its own, not just a process group */
    bool ready;   /* SIGTERM is blocked until the program unblocks it */
};

/* Starts it in a process group, or a session, of its own; it inherits no signal
 * handler, mask (but for ready), descriptor or variable of ours.  Returns an
 * errno, 0 when it runs; the caller reaps it. */
int spawn_program(const struct spawn_program *spawn, pid_t *pid);

#endif
