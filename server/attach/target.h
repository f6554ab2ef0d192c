/*
 * target.h - may heapwire be attached to this process?
 *
 * Reads /proc alone and touches nothing.
 */
#ifndef HW_TARGET_H
#define HW_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct target {
    pid_t pid;
    uid_t uid; /* effective */
    char exe[PATH_MAX];
    uint64_t started_ticks; /* with pid: this process and no later one */
};

/* -1 with *err: why not, and what to do.  force: accepts a seccomp filter. */
int target_check(struct target *t, pid_t pid, bool force, struct error *err);

/* Whether the process sees the same file or directory under that path. */
int target_sees(const struct target *t, const char *path, struct error *err);

/* Whether it is still this process. */
bool target_is_there(const struct target *t);

/* Whether its agent's thread is there. */
bool target_has_agent(pid_t pid);

#endif
