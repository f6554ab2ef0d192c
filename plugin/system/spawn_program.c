/*
 * spawn_program.c - see spawn_program.h.
 *
 * heapwired has threads and may have gigabytes mapped: fork() would copy its
 * page tables and leave a child that may call almost nothing.  posix_spawn
 * shares the memory until exec (vfork) and is safe in any thread.
 */
#include "spawn_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include "confined.h"

enum { FIRST_OTHER = 3 };

static int
set_descriptors(posix_spawn_file_actions_t *actions, const int fds[FIRST_OTHER])
{
    int rc = 0;

    for (int i = 0; i < FIRST_OTHER && rc == 0; i++)
        rc = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(actions, fds[i], i)
                         : posix_spawn_file_actions_addopen(
                               actions, i, "/dev/null", O_WRONLY, 0);
    return rc ? rc : confined_add_closefrom(actions, FIRST_OTHER);
}

static int
set_attributes(posix_spawnattr_t *attributes, const struct spawn_program *spawn)
{
    short own_group =
        spawn->session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    sigset_t all, blocked;
    int rc;

    sigfillset(&all);
    sigemptyset(&blocked);
    if (spawn->ready)
        sigaddset(&blocked, SIGTERM);
    if ((rc = posix_spawnattr_setsigdefault(attributes, &all)) ||
        (rc = posix_spawnattr_setsigmask(attributes, &blocked)))
        return rc;
    return posix_spawnattr_setflags(
        attributes,
        (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | own_group));
}

int
spawn_program(const struct spawn_program *spawn, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return rc;
    }
    if ((rc = set_descriptors(&actions, spawn->fds)) == 0 &&
        (rc = set_attributes(&attributes, spawn)) == 0)
        rc = posix_spawn(pid, spawn->program, &actions, &attributes,
                         spawn->argv, spawn->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}
