/*
 * wrapper.h - commands that only prepare and execute the database.
 *
 * setpriv, gosu, numactl, env, sh -c and their like are no database: they get
 * no agent, and what heapwire-run reads and names is the program that they
 * execute.
 */
#ifndef HW_WRAPPER_H
#define HW_WRAPPER_H

#include <limits.h>
#include <stdbool.h>

enum { WRAPPERS_MAX = 8 }; /* one inside the other */

struct wrapped {
    char name[PATH_MAX]; /* what is executed; empty: none, or cannot be told */
    char root[PATH_MAX]; /* where chroot goes; name lies below it */
    bool other_user;     /* one that changes the user, or may */
};

/* Pure: reads the command, NULL at its end, and borrows from it. */
void wrapper_read(struct wrapped *wrapped, char *const *command);

#endif
