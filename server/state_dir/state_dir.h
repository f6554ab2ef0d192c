/*
 * state_dir.h - the node's own directory: private, for one heapwired.
 *
 * Holds the sockets, the log and the lock.  Mode 0700, ours, never a symbolic
 * link; no other user can replace it.
 */
#ifndef HW_STATE_DIR_H
#define HW_STATE_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct state_dir {
    int fd;      /* of the directory */
    int lock;    /* flock'd while we run */
    uid_t owner; /* before we opened it, and root took it */
};

/* Says what state_dir_open would refuse, and creates nothing. */
int state_dir_check(const char *path, struct error *err);

/* Whether root, having given it to another user, may take it back: only if
 * nobody but root can make directories there. */
bool state_dir_can_be_given(const char *path);

/* Creates what is missing, by root for a heapwired that has left root. */
int state_dir_make_for(const char *path, uid_t uid, struct error *err);

/* Creates what is missing.  *busy when another heapwired has the lock. */
int state_dir_open(struct state_dir *dir, const char *path, bool *busy,
                   struct error *err);
/* Does a heapwired have the lock now? */
bool state_dir_is_served(const char *path);
/* For heapwire-run, before it writes anything there: makes the directory, and
 * locks it itself (flock of the directory) for as long as *lock_fd is open, or
 * until LOCK_UN.  *lock_fd -1: the file system has no locks.  -1 with *err,
 * also if another heapwire-run has the lock, or a heapwired serves a database
 * there and does not linger. */
int state_dir_lock(const char *path, int *lock_fd, struct error *err);

/* Opens it again if its name leads nowhere or to another directory, or if the
 * lock's file was deleted.  *replaced: the directory is another one now.  -1
 * with *err as from state_dir_open(): then all stays as it was. */
int state_dir_recheck(struct state_dir *dir, const char *path, bool *replaced,
                      struct error *err);

void state_dir_close(struct state_dir *dir);

/* How a heapwired that outlives its database gives way to a successor: a
 * heapwire-run that lingers holds a lock on the file "linger" in the state
 * directory.  Another one for the same directory, in any container, writes into
 * that file: the first then ends heapwired and gives way.
 *
 * The lock's descriptor; close it when heapwired has ended.  -1 with errno;
 * EWOULDBLOCK: another process has it. */
int linger_begin(const char *state_dir);
/* Has a successor come? */
bool linger_is_over(int lock);
/* Was the file deleted, so that no successor finds it? */
bool linger_is_lost(int lock);
/* Does somebody linger there? */
bool linger_lock_is_held(const char *state_dir);
/* The same, and asks it to end. */
bool linger_end_of(const char *state_dir);

/* ---- state_dir_default.c ----
 * Chooses the node's directory if none is configured, and says whether a
 * database that changed its user finds it.  In /tmp any user may take a
 * predictable name first.  Then another directory is used: its name cannot be
 * guessed, and the next start finds it again. */

/* Creates nothing.  instead->text says why the place is unusual, and where it
 * is; "": it is the usual place. */
void state_dir_default(uint32_t node_id, char *out, size_t size,
                       struct error *instead);

/* Whether an agent in a database that runs as uid cannot use a state directory
 * of owner's: out then says why, and the cure. */
bool state_dir_excludes(const char *path, uid_t owner, uid_t uid, char *out,
                        size_t size);

/* ---- safe_path.c ----
 * Opens a directory that no other user can replace.  Whoever owns a directory
 * on the way, or may write to it, can put another one in the place of what
 * follows. */

/* Where the last name of a path lies. */
struct safe_path {
    int parent;              /* O_PATH; -1: it is not there */
    char name[NAME_MAX + 1]; /* the last, itself not looked at */
    bool roots_own;          /* only root can make names in the parent */
};

/* Walks from / to the directory before the last name.  make: what is missing on
 * the way is made.  -1 with *err, also where another user can lead the way
 * elsewhere; else the caller closes parent. */
int safe_path_walk(const char *path, bool make, struct safe_path *out,
                   struct error *err);

/* Opens the last name, which may be no symbolic link, below a parent that is
 * there; makes it, mode 0700, where it is missing.  -1 with errno. */
int safe_path_open(const struct safe_path *at);

#endif
