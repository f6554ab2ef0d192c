/*
 * wrapper.h - what the database's command is: where it lies, what it executes
 * and what it may call.
 *
 * setpriv, gosu, numactl, env, sh -c and their like are no database: they get
 * no agent, and what heapwire-run reads and names is the program that they
 * execute.
 */
#ifndef HW_WRAPPER_H
#define HW_WRAPPER_H

#include <limits.h>
#include <stdbool.h>

struct error;

enum { WRAPPERS_MAX = 8 }; /* one inside the other */

struct wrapped {
    char name[PATH_MAX]; /* what is executed; empty: none, or cannot be told */
    char root[PATH_MAX]; /* where chroot goes; name lies below it */
    bool other_user;     /* one that changes the user, or may */
};

/* Pure: reads the command, NULL at its end, and borrows from it. */
void wrapper_read(struct wrapped *wrapped, char *const *command);

/* As the shell finds name: by PATH unless it has a slash.  NULL with *err and
 * *exit_status 126 or 127; else to be freed with mem_free. */
char *program_find(const char *name, int *exit_status, struct error *err);
bool program_is_script(const char *path); /* #! */
/* Set-uid, set-gid or with file capabilities that the caller lacks: the loader
 * then ignores LD_PRELOAD and jemalloc MALLOC_CONF. */
bool program_secure(const char *path);

/* Tests which calls the seccomp filters of this process allow: for the agent,
 * which must not try (confined.h).  confined_write's text, in out of
 * CONFINED_TEXT bytes; "" without filters. Starts children, which a filter may
 * kill, and awaits them: call it while there is one thread and no other child.
 */
void probe_filters(char *out);

#endif
