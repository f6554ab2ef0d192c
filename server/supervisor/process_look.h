/* process_look.h - reads facts about a process from /proc. */
#ifndef HW_PROCESS_LOOK_H
#define HW_PROCESS_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

pid_t process_parent(pid_t pid); /* -1: there is no such process */
/* Its effective user; -1: there is no such process. */
uid_t process_user(pid_t pid);
/* A child of ours that runs that executable, but not this one; 0: none. */
pid_t process_adopted(const char *exe, pid_t except);
/* Whether its root directory is not ours: what /proc calls it, cut to size. */
bool process_has_other_root(pid_t pid, char *root, size_t size);
bool process_runs(pid_t pid, const char *exe);
/* A debugger holds it, and will let it go on. */
bool process_is_traced(pid_t pid);
bool process_is_stopped(pid_t pid);
/* Whether it listens on a socket, or cannot be looked into. */
bool process_may_serve(pid_t pid);

#endif
