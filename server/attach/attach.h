/*
 * attach.h - heapwire in and beside a database that runs already.
 *
 * It is no child of ours: its end is seen, how it ended is not.
 */
#ifndef HW_ATTACH_H
#define HW_ATTACH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct plan;

/* ---- target.c ----
 * May heapwire be attached to this process? Reads /proc alone and touches
 * nothing. */

struct target {
    pid_t pid;
    uid_t uid; /* effective */
    char exe[PATH_MAX];
    uint64_t started_ticks; /* with pid: this process and no later one */
};

/* -1 with *err: why not, and what to do.  force: accepts a seccomp filter. */
int target_check(struct target *t, pid_t pid, bool force, struct error *err);

/* Does the process see the same file or directory under that path? */
int target_sees(const struct target *t, const char *path, struct error *err);

/* Is it still this process? */
bool target_is_there(const struct target *t);

/* Is its agent's thread there? */
bool target_has_agent(pid_t pid);

struct attach {
    struct target target;
    const struct plan *plan;
    const char *library; /* libheapwire.so */
    const char *settings;
    int pidfd; /* -1 */
    bool took; /* the agent was there already, for this state directory */
};

/* Checks everything, touches nothing; prints what would be done. */
int attach_try(struct attach *attach, struct error *err);

/* On success the agent is in the target. */
int attach_start(struct attach *attach, struct error *err);

/* Runs heapwired until the target ends or a signal comes, which also stops the
 * agent.  Returns the exit status. */
int attach_stay(struct attach *attach);

/* ---- inject.c ----
 * Start the agent in a process that runs, and end it there. */

enum { INJECT_TRY_MS = 5000, INJECT_GENTLE_MS = 200, INJECT_STEP_MS = 5 };

struct injection {
    const struct target *target;
    const char *library;  /* libheapwire.so, as the target sees it */
    const char *settings; /* heapwire_start's; NULL: heapwire_stop is called */
    bool dry;             /* checks everything, touches nothing */
    char thread[128];     /* the thread that was, or would be, borrowed */
    unsigned stopped_us;  /* how long that thread stood still */
};

/* 0; else *err says why, and in what state the target is. */
int inject(struct injection *injection, struct error *err);

#endif
