/* state_dir.h - the node's private directory: sockets, locks, logs. */
#ifndef HW_STATE_DIR_H
#define HW_STATE_DIR_H

#include <sys/types.h>

struct error;

/*
 * Creates path (0700, its parents 0755) or checks the one that is there: a real
 * directory of root, ours or owner's, closed to others, in a directory where
 * nobody else can replace it.  When we are root it becomes owner's, unless it
 * looks like somebody's own.  NULL with *err; else its absolute path, to be
 * freed with mem_free.
 */
char *state_dir_prepare(const char *path, uid_t owner, struct error *err);

#endif
